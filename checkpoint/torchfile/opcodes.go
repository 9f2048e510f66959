package torchfile

// The instructions of pickles, of protocols 2 to 5, that the machine knows.
const (
	opMark            = '('
	opStop            = '.'
	opPop             = '0'
	opPopMark         = '1'
	opDup             = '2'
	opBinFloat        = 'G'
	opBinInt          = 'J'
	opBinInt1         = 'K'
	opBinInt2         = 'M'
	opNone            = 'N'
	opBinPersID       = 'Q'
	opReduce          = 'R'
	opBinUnicode      = 'X'
	opAppend          = 'a'
	opBuild           = 'b'
	opGlobal          = 'c'
	opAppends         = 'e'
	opBinGet          = 'h'
	opLongBinGet      = 'j'
	opBinPut          = 'q'
	opLongBinPut      = 'r'
	opSetItem         = 's'
	opTuple           = 't'
	opSetItems        = 'u'
	opEmptyDict       = '}'
	opEmptyList       = ']'
	opEmptyTuple      = ')'
	opProto           = 0x80
	opTuple1          = 0x85
	opTuple2          = 0x86
	opTuple3          = 0x87
	opNewTrue         = 0x88
	opNewFalse        = 0x89
	opLong1           = 0x8a
	opLong4           = 0x8b
	opBinBytes        = 'B'
	opShortBinBytes   = 'C'
	opShortBinUnicode = 0x8c
	opBinUnicode8     = 0x8d
	opBinBytes8       = 0x8e
	opStackGlobal     = 0x93
	opMemoize         = 0x94
	opFrame           = 0x95
)

// refused are instructions that have no place in a file of tensors, with what they do.
var refused = map[byte]string{
	'i': "INST, which calls a class", 'o': "OBJ, which calls a class", 0x81: "NEWOBJ, which makes an object of a class",
	0x92: "NEWOBJ_EX, which makes an object of a class", 0x82: "EXT1, which names a registered extension", 0x83: "EXT2, which names a registered extension",
	0x84: "EXT4, which names a registered extension", 'P': "PERSID, which names an object in text", 0x97: "NEXT_BUFFER, which takes memory from elsewhere",
	0x98: "READONLY_BUFFER, which takes memory from elsewhere",
}
