package torchfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// packed is a file with the given entries, under names as they are.
func packed(t testing.TB, method uint16, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		w := must.Get(z.CreateHeader(&zip.FileHeader{Name: entries[i], Method: method}))(t)
		must.Get(w.Write([]byte(entries[i+1])))(t)
	}
	must.Do(t, z.Close())
	return b.Bytes()
}

// with is a file with a pickle and two storages of 24 and 0 bytes.
func with(t testing.TB, pickle string) []byte {
	return packed(t, zip.Store, "a/data.pkl", pickle, "a/data/0", strings.Repeat("\x01", 24), "a/data/1", "",
		"a/version", "3\n")
}

func readBytes(b []byte) (any, error) { return Read(bytes.NewReader(b), int64(len(b))) }

const (
	float0 = "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06tQ"
	noHook = "\x89ccollections\nOrderedDict\n)R"
)

// rebuilt is a pickle of one tensor of storage 0.
func rebuilt(offset, shape, strides string) string {
	return "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + float0 + offset + shape + strides + noHook + "tR."
}

// call is a pickle of a call, with the instructions of its arguments.
func call(name, args string) string {
	at := strings.LastIndex(name, ".")
	return "\x80\x02c" + name[:at] + "\n" + name[at+1:] + "\n" + args + "R."
}

// refuses checks that a pickle is refused with an error of a kind that contains the words, and returns the error.
func refuses(t *testing.T, name, pickle string, kind Kind, words string) *Error {
	t.Helper()
	v, err := readBytes(with(t, pickle))
	var e *Error
	must.Not(t, !errors.As(err, &e) || e.Kind != kind || v != nil || !strings.Contains(err.Error(), words),
		"%s: %v, %v; want a %s file that says %q", name, v, err, kind, words)
	return e
}

// A file that asks for more than tensors need is refused, and the error names what it asked for.
func TestRefusesHostile(t *testing.T) {
	for _, name := range strings.Fields("os.system builtins.eval builtins.getattr torch.load models.Policy " +
		"torch._utils._rebuild_sparse_tensor numpy.core.multiarray._reconstruct") {
		e := refuses(t, name, call(name, "X\x02\x00\x00\x00id\x85"), Hostile, "Nothing of it was used")
		must.Is(t, e.Global, name, "the error's name")
	}
	const rebuild, one = "torch._utils._rebuild_tensor_v2", "K\x00K\x01\x85K\x01\x85\x89}"
	for name, test := range map[string]struct{ pickle, global, words string }{
		"by the stack": {"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R.", "posix.system", ""},
		"a dotted attribute": {"\x80\x04\x8c\x0bcollections\x8c\x14OrderedDict.__init__\x93.",
			"collections.OrderedDict.__init__", ""},
		"named and never used": {"\x80\x02}cos\nsystem\n.", "os.system", ""},
		"a class as a value": {"\x80\x02ccollections\nOrderedDict\n.", "collections.OrderedDict",
			"where a value belongs"},
		"a call of a tensor": {strings.TrimSuffix(rebuilt("K\x00", "K\x01\x85", "K\x01\x85"), ".") + ")R.", "",
			"type checkpoint.Array"},
		"a state for a dict": {"\x80\x02}}b.", "collections.OrderedDict", "state"},
		"INST":               {"\x80\x02(ios\nsystem\n.", "", "INST"},
		"NEWOBJ":             {"\x80\x02ccollections\nOrderedDict\n)\x81.", "", "NEWOBJ"},
		"a persistent module": {"\x80\x02" +
			strings.Replace(float0, "\x07\x00\x00\x00storage", "\x06\x00\x00\x00module", 1) + ".", "", "persistent id"},
	} {
		must.Is(t, refuses(t, name, test.pickle, Hostile, test.words).Global, test.global, "%s: the error's name", name)
	}
	for _, test := range [][2]string{
		// no pairs, no tensor, a dict
		{"collections.OrderedDict", "K\x01\x85"}, {rebuild, ")"}, {rebuild, "(}K\x00))\x89}t"},
		{rebuild, "(" + float0 + one + "K\x01K\x01st"},                     // hooks
		{"_codecs.encode", "X\x01\x00\x00\x00xX\x05\x00\x00\x00rot13\x86"}, // another code
		{"numpy.dtype", "X\x02\x00\x00\x00O8\x89\x88\x87"},                 // objects
		{"torch.Size", "(" + strings.Repeat("K\x01", 65) + "t\x85"},        // 65 dimensions
	} {
		e := refuses(t, test[0], call(test[0], test[1]), Hostile, "unexpected arguments")
		must.Is(t, e.Global, test[0], "the error's name")
	}
}

// Files that are cut off, contradict themselves or announce more than they have are refused before they take memory.
func TestRefusesDamaged(t *testing.T) {
	one := "K\x01\x85"
	laughs := "\x80\x02]" + strings.Repeat("q\x01h\x01\x86", 40) // a pair of the pair before: 2⁴⁰ values
	huge := "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x40"
	storage := func(old, new string) string { return "\x80\x02" + strings.Replace(float0, old, new, 1) + "." }
	for name, test := range map[string]struct{ pickle, words string }{
		"empty":                  {"", "protocol"},
		"4 GB of text":           {"\x80\x02X\xff\xff\xff\xffabc.", "announces 4294967295 bytes"},
		"endless bytes":          {"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xffabc.", "announces"},
		"nothing on the stack":   {"\x80\x02.", "ends with 0 values"},
		"tuple over a mark":      {"\x80\x02K\x01(\x85.", "not there"},
		"memo before it exists":  {"\x80\x02h\x05.", "value 5"},
		"bytes after the end":    {"\x80\x02}.}", "follow"},
		"a key twice":            {"\x80\x02}(X\x01\x00\x00\x00aK\x01X\x01\x00\x00\x00aK\x02u.", "twice"},
		"text that is not UTF-8": {"\x80\x02X\x01\x00\x00\x00\xff.", "UTF-8"},
		"contains itself":        {"\x80\x02]q\x01h\x01a.", "contain themselves"},
		"a billion laughs":       {laughs + ".", "more than"},
		"marks without end":      {"\x80\x02" + strings.Repeat("(", 1<<23), "more than 8388608 instructions"},
		"a stack without end":    {"\x80\x02" + strings.Repeat("N", 1<<23), "more than 8388608 instructions"},
		"lists without end":      {"\x80\x02" + strings.Repeat("]", 1<<23), "more than 8388608 instructions"},
		"no such storage":        {storage("\x01\x00\x00\x000X", "\x01\x00\x00\x009X"), `no entry "data/9"`},
		"a storage too long":     {storage("K\x06", "K\x07"), "24 bytes"},
		"a negative offset":      {rebuilt("J\xff\xff\xff\xff", one, one), "element -1"},
		"a size too large":       {rebuilt("K\x00", "K\x07\x85", one), "reaches element 6"},
		"strides that overflow":  {rebuilt("K\x00", "K\x03\x85", huge+"\x85"), "larger than can be counted"},
		"one element 2³⁰ times":  {rebuilt("K\x00", "J\x00\x00\x00\x40\x85", "K\x00\x85"), "times the file's bytes"},
	} {
		refuses(t, name, test.pickle, Damaged, test.words)
	}
}

// A tensor without elements has no data, whatever its strides, also in a storage without any.
func TestReadsEmptyViews(t *testing.T) {
	for _, pickle := range []string{rebuilt("K\x03", "K\x02K\x00\x86", "K\x06K\x01\x86"),
		strings.NewReplacer("\x000X", "\x001X", "K\x06t", "K\x00t").Replace(
			rebuilt("K\x00", "K\x02K\x00K\x03\x87", "K\x01K\x02K\x02\x87"))} {
		a := must.Get(readBytes(with(t, pickle)))(t).(checkpoint.Array)
		must.Is(t, len(a.Data), 0, "bytes of the shape %v", a.Shape)
	}
}

func TestRefusesUnsupported(t *testing.T) {
	conjugate := strings.TrimSuffix(rebuilt("K\x00", "K\x01\x85", "K\x01\x85"), "tR.") +
		"}X\x04\x00\x00\x00conj\x88stR."
	for words, pickle := range map[string]string{"protocol is 6": "\x80\x06.", "type List": "\x80\x02}]K\x01s.",
		"QInt8Storage": "\x80\x02ctorch\nQInt8Storage\n.", "conjugate": conjugate} {
		refuses(t, words, pickle, Unsupported, words)
	}
}

// The archive around the pickle is not trusted either.
func TestRefusesArchives(t *testing.T) {
	good := with(t, "\x80\x02}.")
	must.Get(readBytes(good))(t)
	flipped := with(t, rebuilt("K\x00", "K\x06\x85", "K\x01\x85"))
	at := bytes.Index(flipped, []byte("\x01\x01\x01\x01\x01\x01\x01\x01"))
	flipped[at] ^= 0x10
	zeros := strings.Repeat("\x00", 1<<20)
	pack := func(entries ...string) []byte { return packed(t, zip.Store, entries...) }
	const pickle = "\x80\x02}."
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":           {nil, "no zip archive"},
		"a bomb":            {packed(t, zip.Deflate, "a/data.pkl", zeros, "a/version", "3"), "compressed"},
		"two folders":       {pack("a/data.pkl", pickle, "b/version", "3"), "one folder"},
		"upwards":           {pack("a/data.pkl", pickle, "a/../../x", "3", "a/version", "3"), "one folder"},
		"an entry twice":    {pack("a/data.pkl", pickle, "a/data.pkl", pickle, "a/version", "3"), "two entries"},
		"big-endian":        {pack("a/data.pkl", pickle, "a/byteorder", "big", "a/version", "3"), "byte order"},
		"an altered number": {flipped, "checksum"},
	} {
		must.RefusedAs(readBytes(test.file))(t, name, test.want)
	}
	// Two entries that claim the same bytes: the second has checksum and sizes of the first.
	file := pack("a/data.pkl", pickle, "a/data/0", strings.Repeat("x", 1000), "a/data/1", "", "a/version", "3")
	central := bytes.LastIndex(file, []byte("a/data/1")) - 46
	copy(file[central+16:central+28], file[bytes.LastIndex(file, []byte("a/data/0"))-46+16:])
	must.Refused(readBytes(file))(t, "more bytes than the file")
	_, err := Open("testdata/legacy.pt")
	must.Not(t, !errors.Is(err, ErrLegacy) || !strings.Contains(err.Error(), "legacy.pt"), "%v", err)
	must.RefusedAs(Open("testdata/script.pt"))(t, "TorchScript", "script.pt cannot be read: ")
	must.RefusedAs(readBytes([]byte("\x80\x04}.")))(t, "no archive", "bare pickle")
}

// use writes a value that was read, and looks at all of its tensors.
func use(t *testing.T, v any) {
	must.Do(t, Write(new(bytes.Buffer), v))
	dump(v)
}

// Reading any pickle ends with a valid value, or with one of the package's errors.
func FuzzPickle(f *testing.F) {
	for _, name := range []string{"values.pt", "protocol3.pt", "protocol4.pt", "protocol5.pt"} {
		file := must.Read(f, "testdata/"+name)
		a := must.Get(openArchive(bytes.NewReader(file), int64(len(file))))(f)
		f.Add(must.Get(a.record("data.pkl", maxPickle))(f))
	}
	f.Add([]byte(rebuilt("K\x00", "K\x06\x85", "K\x01\x85")))
	f.Add([]byte(rebuilt("K\x00", "K\x02K\x03\x86", "K\x01K\x02\x86")))
	f.Add([]byte("\x80\x02cposix\nsystem\nX\x02\x00\x00\x00id\x85R."))
	f.Fuzz(func(t *testing.T, pickle []byte) {
		storages := map[string][]byte{}
		for i, n := range []int{24, 0, 8, 64} {
			storages[string(rune('0'+i))] = make([]byte, n)
		}
		m := &machine{code: pickle, archive: &archive{storages: storages}, budget: 1 << 20}
		v, err := m.run()
		if err == nil {
			use(t, v)
			return
		}
		var e *Error
		must.Not(t, !errors.As(err, &e), "an error of another kind: %v", err)
	})
}

// FuzzRead is FuzzPickle for whole files.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"values.pt", "protocol4.pt", "legacy.pt", "script.pt"} {
		f.Add(must.Read(f, "testdata/"+name))
	}
	var b bytes.Buffer
	must.Do(f, Write(&b, NewDict("x", checkpoint.ArrayFloat32([]int64{2}, []float32{1, 2}))))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		if v, err := readBytes(file); err == nil {
			use(t, v)
		}
	})
}

// A bare pickle of plain values is read. One that asks for more is refused, also if it asks for tensors.
func TestReadPickle(t *testing.T) {
	v := must.Get(ReadPickle([]byte("\x80\x04}X\x03\x00\x00\x00fpsK\x1es.")))(t)
	must.Is(t, v.(*Dict).Len(), 1, "values")
	for pickle, kind := range map[string]Kind{call("os.system", ")"): Hostile,
		rebuilt("K\x00", "K\x02\x85", "K\x01\x85"): Damaged} {
		_, err := ReadPickle([]byte(pickle))
		var e *Error
		must.Not(t, !errors.As(err, &e) || e.Kind != kind, "%v, want a %s pickle", err, kind)
	}
}
