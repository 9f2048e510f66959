package torchfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
)

// packed is a file with the given entries, under names as they are.
func packed(t testing.TB, method uint16, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: entries[i], Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(entries[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// with is a file with a pickle and two storages of 24 and 0 bytes.
func with(t testing.TB, pickle string) []byte {
	return packed(t, zip.Store, "a/data.pkl", pickle, "a/data/0", strings.Repeat("\x01", 24), "a/data/1", "", "a/version", "3\n")
}

func readBytes(b []byte) (any, error) { return Read(bytes.NewReader(b), int64(len(b))) }

const (
	float0   = "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06tQ"
	untyped0 = "(X\x07\x00\x00\x00storagectorch.storage\nUntypedStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x18tQ"
	noHook   = "\x89ccollections\nOrderedDict\n)R"
)

// rebuilt is a pickle of one tensor of storage 0.
func rebuilt(offset, shape, strides string) string {
	return "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + float0 + offset + shape + strides + noHook + "tR."
}

// Every file that asks for more than tensors need is refused by name of what it asks for.
func TestRefusesHostile(t *testing.T) {
	call := func(module, name, args string) string { return "\x80\x02c" + module + "\n" + name + "\n" + args + "R." }
	for name, test := range map[string]struct{ pickle, global, reason string }{
		"os.system":             {call("os", "system", "X\x02\x00\x00\x00id\x85"), "os.system", ""},
		"posix.system":          {call("posix", "system", "X\x02\x00\x00\x00id\x85"), "posix.system", ""},
		"nt.system":             {call("nt", "system", "X\x02\x00\x00\x00id\x85"), "nt.system", ""},
		"eval":                  {call("builtins", "eval", "X\x01\x00\x00\x001\x85"), "builtins.eval", ""},
		"Python 2's eval":       {call("__builtin__", "eval", "X\x01\x00\x00\x001\x85"), "__builtin__.eval", ""},
		"getattr":               {call("builtins", "getattr", ")"), "builtins.getattr", ""},
		"__import__":            {call("builtins", "__import__", "X\x02\x00\x00\x00os\x85"), "builtins.__import__", ""},
		"subprocess":            {call("subprocess", "Popen", ")"), "subprocess.Popen", ""},
		"torch.load":            {call("torch", "load", ")"), "torch.load", ""},
		"torch.hub":             {call("torch.hub", "load", ")"), "torch.hub.load", ""},
		"torch._utils":          {call("torch._utils", "_rebuild_sparse_tensor", ")"), "torch._utils._rebuild_sparse_tensor", ""},
		"numpy's arrays":        {call("numpy.core.multiarray", "_reconstruct", ")"), "numpy.core.multiarray._reconstruct", ""},
		"a user's class":        {call("models", "Policy", ")"), "models.Policy", ""},
		"by the stack":          {"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R.", "posix.system", ""},
		"a dotted attribute":    {"\x80\x04\x8c\x0bcollections\x8c\x1aOrderedDict.__init__.__glo\x93.", "collections.OrderedDict.__init__.__glo", ""},
		"by the stack, no text": {"\x80\x04K\x01K\x02\x93.", "", "STACK_GLOBAL"},
		"named and never used":  {"\x80\x02cos\nsystem\n0}.", "os.system", ""},
		"a class as a value":    {"\x80\x02ccollections\nOrderedDict\n.", "collections.OrderedDict", "where a value belongs"},
		"a storage as a value":  {"\x80\x02" + float0 + ".", "", "a storage where a value belongs"},
		"a storage called":      {call("torch", "FloatStorage", "K\x01\x85"), "torch.FloatStorage", "storage only"},
		"a call of a number":    {"\x80\x02K\x01)R.", "", "not a function"},
		"a call of a tensor":    {rebuilt("K\x00", "K\x01\x85", "K\x01\x85")[:len(rebuilt("K\x00", "K\x01\x85", "K\x01\x85"))-1] + ")R.", "", "not a function (a tensor)"},
		"arguments in a list":   {call("collections", "OrderedDict", "]"), "collections.OrderedDict", "instead of a tuple"},
		"unexpected arguments":  {call("collections", "OrderedDict", "K\x01\x85"), "collections.OrderedDict", "unexpected arguments"},
		"a tensor of nothing":   {call("torch._utils", "_rebuild_tensor_v2", ")"), "torch._utils._rebuild_tensor_v2", "unexpected arguments"},
		"a tensor of a dict":    {call("torch._utils", "_rebuild_tensor_v2", "(}K\x00))\x89}t"), "torch._utils._rebuild_tensor_v2", "unexpected arguments"},
		"hooks":                 {call("torch._utils", "_rebuild_tensor_v2", "("+float0+"K\x00K\x01\x85K\x01\x85\x89}K\x01K\x01st"), "torch._utils._rebuild_tensor_v2", "unexpected arguments"},
		"a tensor without type": {call("torch._utils", "_rebuild_tensor_v2", "("+untyped0+"K\x00K\x01\x85K\x01\x85\x89}t"), "torch._utils._rebuild_tensor_v2", "unexpected arguments"},
		"a parameter of text":   {call("torch._utils", "_rebuild_parameter", "X\x01\x00\x00\x00x\x88}\x87"), "torch._utils._rebuild_parameter", "unexpected arguments"},
		"bytes by another code": {call("_codecs", "encode", "X\x01\x00\x00\x00xX\x05\x00\x00\x00rot13\x86"), "_codecs.encode", "unexpected arguments"},
		"objects of NumPy":      {call("numpy", "dtype", "X\x02\x00\x00\x00O8\x89\x88\x87"), "numpy.dtype", "unexpected arguments"},
		"65 dimensions":         {call("torch", "Size", "("+strings.Repeat("K\x01", 65)+"t\x85"), "torch.Size", "unexpected arguments"},
		"INST":                  {"\x80\x02(ios\nsystem\n.", "", "INST"},
		"OBJ":                   {"\x80\x02(ccollections\nOrderedDict\no.", "", "OBJ"},
		"NEWOBJ":                {"\x80\x02ccollections\nOrderedDict\n)\x81.", "", "NEWOBJ"},
		"NEWOBJ_EX":             {"\x80\x04ccollections\nOrderedDict\n)}\x92.", "", "NEWOBJ_EX"},
		"EXT1":                  {"\x80\x02\x82\x01.", "", "EXT1"},
		"a persistent text":     {"\x80\x02Pmodule\n.", "", "PERSID"},
		"a persistent module":   {"\x80\x02(X\x06\x00\x00\x00modulectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06tQ.", "", "persistent id"},
		"a buffer":              {"\x80\x05\x97.", "", "NEXT_BUFFER"},
		"a state for a list":    {"\x80\x02]}b.", "", "BUILD"},
		"a state for a dict":    {"\x80\x02}}b.", "collections.OrderedDict", "state"},
		"append to a dict":      {"\x80\x02}K\x01a.", "", "APPEND"},
		"items of a list":       {"\x80\x02]K\x01K\x02s.", "", "SETITEM"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := readBytes(with(t, test.pickle))
			var h *Error
			if !errors.As(err, &h) || h.Kind != Hostile {
				t.Fatalf("%v, %v; want a hostile file", v, err)
			}
			if h.Global != test.global {
				t.Errorf("it names %q, want %q", h.Global, test.global)
			}
			if !strings.Contains(err.Error(), test.reason) || !strings.Contains(err.Error(), "Nothing of it was used") {
				t.Errorf("%v, want it to say %q", err, test.reason)
			}
			if v != nil {
				t.Errorf("a value came with the error: %s", dump(v))
			}
		})
	}
}

// Files that are cut off, contradict themselves or announce more than they have are refused before memory is asked for.
func TestRefusesDamaged(t *testing.T) {
	one := "K\x01\x85"
	deep := "\x80\x02" + strings.Repeat("]", 300) + strings.Repeat("a", 299) + "."
	// a list of twice the list before, 40 times: 2⁴⁰ values
	laughs := "\x80\x02]"
	for range 40 {
		laughs += "q\x010](h\x01h\x01e"
	}
	huge := "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x40"
	for name, test := range map[string]struct{ pickle, want string }{
		"empty":                     {"", "protocol"},
		"no protocol":               {"}.", "protocol"},
		"cut off":                   {"\x80\x02}", "cut off"},
		"cut off in text":           {"\x80\x02X\x10\x00\x00\x00abc", "announces 16 bytes"},
		"4 GB of text":              {"\x80\x02X\xff\xff\xff\xffabc.", "announces 4294967295 bytes"},
		"endless bytes":             {"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xffabc.", "announces"},
		"a frame too long":          {"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f}.", "frame"},
		"a name without end":        {"\x80\x02ctorch", "no end"},
		"nothing on the stack":      {"\x80\x02.", "ends with 0 values"},
		"two values":                {"\x80\x02}}.", "ends with 2 values"},
		"an open mark":              {"\x80\x02(}.", "ends with"},
		"no mark":                   {"\x80\x02t.", "not begun"},
		"pop of nothing":            {"\x80\x020.", "not there"},
		"tuple over a mark":         {"\x80\x02K\x01(\x85.", "not there"},
		"memo before it is there":   {"\x80\x02h\x05.", "value 5"},
		"bytes after the end":       {"\x80\x02}.}", "follow"},
		"a key twice":               {"\x80\x02}(X\x01\x00\x00\x00aK\x01X\x01\x00\x00\x00aK\x02u.", "twice"},
		"a key without a value":     {"\x80\x02}(X\x01\x00\x00\x00au.", "without a value"},
		"text that is not UTF-8":    {"\x80\x02X\x01\x00\x00\x00\xff.", "UTF-8"},
		"nested":                    {deep, "nested"},
		"contains itself":           {"\x80\x02]q\x01h\x01a.", "contain themselves"},
		"a billion laughs":          {laughs + ".", "more than"},
		"marks without end":         {"\x80\x02" + strings.Repeat("(", 1<<23), "nests without end"},
		"a stack without end":       {"\x80\x02N" + strings.Repeat("2", 1<<23), "at once"},
		"lists without end":         {"\x80\x02" + strings.Repeat("]", 1<<23), "makes more than"},
		"no such storage":           {"\x80\x02" + strings.Replace(float0, "\x01\x00\x00\x000X", "\x01\x00\x00\x009X", 1) + ".", `no entry "data/9"`},
		"a storage by path":         {"\x80\x02" + strings.Replace(float0, "\x01\x00\x00\x000X", "\x0b\x00\x00\x00/etc/passwdX", 1) + ".", "no entry"},
		"a storage too long":        {"\x80\x02" + strings.Replace(float0, "K\x06", "K\x07", 1) + ".", "24 bytes"},
		"a storage too short":       {"\x80\x02" + strings.Replace(float0, "K\x06", "K\x05", 1) + ".", "24 bytes"},
		"a storage of 2⁶² elements": {"\x80\x02" + strings.Replace(float0, "K\x06", huge, 1) + ".", "24 bytes"},
		"a storage below zero":      {"\x80\x02" + strings.Replace(float0, "K\x06", "J\xff\xff\xff\xff", 1) + ".", "24 bytes"},
		"a negative offset":         {rebuilt("J\xff\xff\xff\xff", one, one), "element -1"},
		"an offset beyond":          {rebuilt("K\x06", one, one), "element 6"},
		"a negative size":           {rebuilt("K\x00", "J\xff\xff\xff\xff\x85", one), "negative"},
		"a negative stride":         {rebuilt("K\x05", "K\x02\x85", "J\xff\xff\xff\xff\x85"), "negative"},
		"a size too large":          {rebuilt("K\x00", "K\x07\x85", one), "reaches element 6"},
		"a stride too large":        {rebuilt("K\x00", "K\x02\x85", "K\x06\x85"), "reaches element 6"},
		"sizes that overflow":       {rebuilt("K\x00", huge+huge+"\x86", "K\x00K\x00\x86"), "larger than can be counted"},
		"strides that overflow":     {rebuilt("K\x00", "K\x03\x85", huge+"\x85"), "larger than can be counted"},
		"one element 2³⁰ times":     {rebuilt("K\x00", "J\x00\x00\x00\x40\x85", "K\x00\x85"), "times the file's bytes"},
		"fewer strides than sizes":  {rebuilt("K\x00", "K\x01K\x01\x86", one), "2 sizes and 1 strides"},
		"empty beyond its storage":  {rebuilt("K\x07", "K\x00\x85", one), "element 7"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := readBytes(with(t, test.pickle))
			var d *Error
			if !errors.As(err, &d) || d.Kind != Damaged || v != nil {
				t.Fatalf("%v, %v; want a damaged file", v, err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want it to say %q", err, test.want)
			}
		})
	}
}

func TestRefusesUnsupported(t *testing.T) {
	for name, test := range map[string]struct{ pickle, want string }{
		"protocol 0":           {"\x80\x00.", "protocol is 0"},
		"protocol 6":           {"\x80\x06.", "protocol is 6"},
		"a text number":        {"\x80\x02I01\n.", "0x49"},
		"a quantised type":     {"\x80\x02ctorch\nQInt8Storage\n.", "QInt8Storage"},
		"128 bits":             {"\x80\x02\x8a\x09\x01\x00\x00\x00\x00\x00\x00\x00\x01.", "9 bytes"},
		"a key that is a list": {"\x80\x02}]K\x01s.", "key is a list"},
		"a conjugate view": {"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + float0 + "K\x00K\x01\x85K\x01\x85" + noHook + "}X\x04\x00\x00\x00conj\x88stR.",
			"conjugate"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readBytes(with(t, test.pickle))
			var u *Error
			if !errors.As(err, &u) || u.Kind != Unsupported || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an unsupported file that says %q", err, test.want)
			}
		})
	}
}

// The archive around the pickle is not trusted either.
func TestRefusesArchives(t *testing.T) {
	good := with(t, "\x80\x02}.")
	if _, err := readBytes(good); err != nil {
		t.Fatal(err)
	}
	flipped := with(t, rebuilt("K\x00", "K\x06\x85", "K\x01\x85"))
	at := bytes.Index(flipped, []byte("\x01\x01\x01\x01\x01\x01\x01\x01"))
	flipped[at] ^= 0x10
	zeros := strings.Repeat("\x00", 1<<20)
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":           {nil, "no zip archive"},
		"text":              {[]byte("hello, this is no archive at all"), "no zip archive"},
		"cut off":           {good[:len(good)-10], "no zip archive"},
		"a bomb":            {packed(t, zip.Deflate, "a/data.pkl", zeros, "a/version", "3"), "compressed"},
		"two folders":       {packed(t, zip.Store, "a/data.pkl", "\x80\x02}.", "b/version", "3"), "one folder"},
		"no folder":         {packed(t, zip.Store, "data.pkl", "\x80\x02}.", "version", "3"), "one folder"},
		"upwards":           {packed(t, zip.Store, "a/data.pkl", "\x80\x02}.", "a/../../x", "3", "a/version", "3"), "one folder"},
		"the root":          {packed(t, zip.Store, "/data.pkl", "\x80\x02}.", "/version", "3"), "one folder"},
		"a backslash":       {packed(t, zip.Store, "a/data.pkl", "\x80\x02}.", `a/..\x`, "3"), "one folder"},
		"an entry twice":    {packed(t, zip.Store, "a/data.pkl", "\x80\x02}.", "a/data.pkl", "\x80\x02].", "a/version", "3"), "two entries"},
		"no pickle":         {packed(t, zip.Store, "a/version", "3"), "no data.pkl"},
		"no version":        {packed(t, zip.Store, "a/data.pkl", "\x80\x02}."), "no version"},
		"big-endian":        {packed(t, zip.Store, "a/data.pkl", "\x80\x02}.", "a/byteorder", "big", "a/version", "3"), "byte order"},
		"an altered number": {flipped, "checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := readBytes(test.file)
			if err == nil || v != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, %v; want it to say %q", v, err, test.want)
			}
		})
	}
}

// The entries of an archive may not claim the same bytes more than once.
func TestRefusesOverlappingEntries(t *testing.T) {
	file := packed(t, zip.Store, "a/data.pkl", "\x80\x02}.", "a/data/0", strings.Repeat("x", 1000), "a/data/1", "", "a/version", "3")
	central := bytes.LastIndex(file, []byte("a/data/1")) - 46
	copy(file[central+16:central+28], file[bytes.LastIndex(file, []byte("a/data/0"))-46+16:]) // checksum and sizes of entry 0
	if v, err := readBytes(file); err == nil || !strings.Contains(err.Error(), "more bytes than the file") {
		t.Errorf("%v, %v", v, err)
	}
}

func TestOtherFilesOfPyTorch(t *testing.T) {
	if _, err := Open("testdata/legacy.pt"); !errors.Is(err, ErrLegacy) || !strings.Contains(err.Error(), "legacy.pt") {
		t.Errorf("%v, want ErrLegacy and the path", err)
	}
	var u *Error
	if _, err := Open("testdata/script.pt"); !errors.As(err, &u) || u.Kind != Unsupported || !strings.Contains(err.Error(), "script.pt cannot be read: ") {
		t.Errorf("%v, want an unsupported file with the path", err)
	}
	if _, err := readBytes([]byte("\x80\x04}.")); !errors.As(err, &u) || u.Kind != Unsupported || !strings.Contains(err.Error(), "bare pickle") {
		t.Error(err)
	}
}

// use walks over everything that was read.
func use(t *testing.T, v any) {
	if err := Write(new(bytes.Buffer), v); err != nil && !strings.Contains(err.Error(), "share one storage") && !strings.Contains(err.Error(), "no whole number") {
		t.Errorf("what was read cannot be written: %v", err)
	}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case *Tensor:
			a := v.Array()
			if a.Len()*a.DType.Size() != int64(len(a.Data)) {
				t.Errorf("a tensor of %s %v has %d bytes", a.DType, a.Shape, len(a.Data))
			}
		case *Dict:
			for _, x := range v.All() {
				visit(x)
			}
		case *List:
			for _, x := range v.Items {
				visit(x)
			}
		case Tuple:
			for _, x := range v {
				visit(x)
			}
		}
	}
	visit(v)
}

// Whatever a pickle says, reading it ends with a value that is whole, or with one of the package's errors.
func FuzzPickle(f *testing.F) {
	for _, name := range []string{"values.pt", "protocol3.pt", "protocol4.pt", "protocol5.pt"} {
		file, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		a, err := openArchive(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			f.Fatal(err)
		}
		pickle, err := a.record("data.pkl", maxPickle)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(pickle)
	}
	f.Add([]byte(rebuilt("K\x00", "K\x06\x85", "K\x01\x85")))
	f.Add([]byte(rebuilt("K\x00", "K\x02K\x03\x86", "K\x01K\x02\x86")))
	f.Add([]byte("\x80\x02cposix\nsystem\nX\x02\x00\x00\x00id\x85R."))
	f.Fuzz(func(t *testing.T, pickle []byte) {
		storages := map[string]*Storage{}
		for i, n := range []int{24, 0, 8, 64} {
			storages[string(rune('0'+i))] = &Storage{make([]byte, n)}
		}
		m := &machine{code: pickle, archive: &archive{storages: storages}, budget: 1 << 20}
		v, err := m.run()
		if err == nil {
			err = check(v)
		}
		if err == nil {
			use(t, v)
			return
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("an error of another kind: %v", err)
		}
	})
}

// The same for whole files.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"values.pt", "protocol4.pt", "legacy.pt", "script.pt"} {
		file, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	var b bytes.Buffer
	if err := Write(&b, NewDict("x", NewTensor(checkpoint.ArrayFloat32([]int64{2}, []float32{1, 2})))); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		if v, err := readBytes(file); err == nil {
			use(t, v)
		}
	})
}

// A bare pickle of plain values is read; what asks for more is refused, tensors too, as there is no archive to hold them.
func TestReadPickle(t *testing.T) {
	v, err := ReadPickle([]byte("\x80\x04}X\x03\x00\x00\x00fpsK\x1es."))
	if d, ok := v.(*Dict); err != nil || !ok || d.Len() != 1 {
		t.Fatalf("%v, %v", v, err)
	}
	var e *Error
	if _, err := ReadPickle([]byte("\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.")); !errors.As(err, &e) || e.Kind != Hostile || e.Global != "os.system" {
		t.Error(err)
	}
	if _, err := ReadPickle([]byte(rebuilt("K\x00", "K\x02\x85", "K\x01\x85"))); !errors.As(err, &e) || e.Kind != Damaged {
		t.Error(err)
	}
}
