package tensor

// #include "gorl.h"
import "C"

// TuneAllocator lets glibc's allocator keep the memory of large tensors for the next ones. By default glibc returns
// large blocks to the kernel at once, and every activation of a wide network is mapped again at each minibatch. The
// settings hold for the whole process, so importing this package does not make them. Call TuneAllocator once, at the
// start of main, in a program whose work is training. gorl's commands (cli.Main) and the snippets call it.
//
// It is mallopt with four settings. Blocks of up to 32 MB come from the heap. Up to 512 MB of freed memory stay with
// the process. The heap grows by 16 MB at a time. Threads share 4 arenas. These settings replace those of the
// environment (MALLOC_TOP_PAD_ and the like). They have no effect on memory of Go, of a GPU, or of another allocator
// than glibc's.
func TuneAllocator() { C.gorl_tune_allocator() }
