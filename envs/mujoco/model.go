package mujoco

/*
#cgo CFLAGS: -O2
#cgo LDFLAGS: -lmujoco -lm
#include <stdlib.h>
#include "engine.h"
*/
import "C"

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Model is a compiled MJCF model. It is immutable, so goroutines and batches may share it. Its memory is freed when the
// model and all batches and environments that use it are closed.
type Model struct {
	c *C.gm_model
	// m is c.m.
	m *C.mjModel
	// name is the file's path, or "MJCF text".
	name string
	// users counts the references: one until Close, and one per batch. At 0 the C memory is freed.
	users  atomic.Int64
	closed atomic.Bool
	// print is the hash of the compiled model. It identifies the model in saved states. It differs between versions of
	// MuJoCo, whose binary forms differ.
	print [sha256.Size]byte
}

// loading serialises MuJoCo's MJCF compiler, which has global state.
var loading sync.Mutex

// LoadModel compiles the MJCF file at path. Meshes and includes are found relative to it. The error names the file and
// carries MuJoCo's message.
func LoadModel(path string) (*Model, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("mujoco: model: %w", err)
	}
	return compile(path, path, nil)
}

// ParseModel compiles MJCF text. The error carries MuJoCo's message.
func ParseModel(xml string) (*Model, error) { return parseModel(xml, nil) }

// parseModel compiles MJCF text that names files in memory.
func parseModel(xml string, assets map[string][]byte) (*Model, error) {
	if strings.TrimSpace(xml) == "" {
		return nil, errors.New("mujoco: model: the MJCF text is empty")
	}
	files := C.gm_new_files()
	defer C.gm_free_files(files)
	add := func(name string, data []byte) error {
		c := C.CString(name)
		defer C.free(unsafe.Pointer(c))
		if files == nil || len(data) > math.MaxInt32 ||
			C.gm_add_file(files, c, unsafe.Pointer(unsafe.SliceData(data)), C.int(len(data))) != 0 {
			return fmt.Errorf("mujoco: model: MuJoCo does not take the file %s of %d bytes", name, len(data))
		}
		return nil
	}
	const text = "model.xml"
	if err := add(text, []byte(xml)); err != nil {
		return nil, err
	}
	for name, data := range assets {
		if err := add(name, data); err != nil {
			return nil, err
		}
	}
	return compile("MJCF text", text, files)
}

// compile compiles the file at path, which may be one of files. name stands for the model in errors.
func compile(name, path string, files *C.mjVFS) (*Model, error) {
	if err := checkLibrary(); err != nil {
		return nil, err
	}
	message := newMessage()
	defer C.free(unsafe.Pointer(message))
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	loading.Lock()
	defer loading.Unlock()
	c := C.gm_load(cpath, files, message)
	if c == nil {
		return nil, fmt.Errorf("mujoco: model: %s: %s", name, tidy(C.GoString(message)))
	}
	m := &Model{c: c, m: c.m, name: name}
	m.users.Store(1)
	m.print = sha256.Sum256(m.bytes())
	return m, nil
}

// tidy puts MuJoCo's message, which may have several lines, on one.
func tidy(message string) string {
	return strings.Join(strings.Fields(message), " ")
}

// bytes returns the compiled model in MuJoCo's binary form.
func (m *Model) bytes() []byte {
	n := C.gm_model_bytes(m.c, nil, 0)
	b := make([]byte, n)
	C.gm_model_bytes(m.c, unsafe.Pointer(&b[0]), n)
	return b
}

// retain adds a reference, which the caller must release. It fails after Close, even if a batch still keeps the memory
// alive.
func (m *Model) retain() error {
	for {
		n := m.users.Load()
		if n <= 0 || m.closed.Load() {
			return errors.New("mujoco: the model is closed")
		}
		if m.users.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

// release drops a reference. The last one frees the C memory.
func (m *Model) release() {
	if m.users.Add(-1) == 0 {
		C.gm_free_model(m.c)
	}
}

// Close releases the model. Batches and environments that still use the model keep it alive until they close. Close may
// be called twice.
func (m *Model) Close() error {
	if m.closed.CompareAndSwap(false, true) {
		m.release()
	}
	return nil
}

// NQ is the number of position coordinates.
func (m *Model) NQ() int { return int(m.m.nq) }

// NV is the number of degrees of freedom (velocities).
func (m *Model) NV() int { return int(m.m.nv) }

// NU is the number of controls: one per actuator, unless an actuator of MuJoCo 3.11 or later has several.
func (m *Model) NU() int { return int(m.m.nu) }

// forces is the number of actuator forces: one per actuator, unless an actuator of MuJoCo 3.11 or later has several.
func (m *Model) forces() int { return int(C.gm_forces(m.m)) }

// NA is the number of actuator activations.
func (m *Model) NA() int { return int(m.m.na) }

// NumBodies is the number of bodies, the world included.
func (m *Model) NumBodies() int { return int(m.m.nbody) }

// Mass is the mass of the whole model in kg.
func (m *Model) Mass() float64 { return float64(*m.m.body_subtreemass) }

// NumSensorValues is the width of the sensor data.
func (m *Model) NumSensorValues() int { return int(m.m.nsensordata) }

// TimeStep is the simulated time of one substep in seconds.
func (m *Model) TimeStep() float64 { return float64(m.m.opt.timestep) }

// Fast reports whether the model is stepped by this package's own form of the implicit integrator (same trajectory,
// less work): it needs integrator="implicit", only hinges and slides, and actuators without velocity terms.
func (m *Model) Fast() bool { return m.c.fast != 0 }

// InitialQPos returns the positions in which the model was written.
func (m *Model) InitialQPos() []float64 {
	return slices.Clone(floats(m.m.qpos0, m.NQ()))
}

// ControlRange returns the limits of control i. ok is false if the control is unlimited.
func (m *Model) ControlRange(i int) (low, high float64, ok bool) {
	if i < 0 || i >= m.NU() {
		panic(fmt.Sprintf("mujoco: ControlRange: control %d of %d", i, m.NU()))
	}
	low, high = limits(m.m.actuator_ctrlrange, i)
	return low, high, flagAt(unsafe.Pointer(m.m.actuator_ctrllimited), i)
}

// flagAt returns the i-th of an array of flags. A flag is one byte; its C type differs between MuJoCo's versions.
func flagAt(flags unsafe.Pointer, i int) bool { return unsafe.Slice((*byte)(flags), i+1)[i] != 0 }

// limits returns the i-th pair of an array of ranges (n, 2).
func limits(ranges *C.mjtNum, i int) (low, high float64) {
	r := floats(ranges, 2*i+2)
	return r[2*i], r[2*i+1]
}

// Kind is a kind of named object in a model.
type Kind int

// The kinds that a [Model] can look up.
const (
	Body     Kind = C.mjOBJ_BODY
	Joint    Kind = C.mjOBJ_JOINT
	Geom     Kind = C.mjOBJ_GEOM
	Site     Kind = C.mjOBJ_SITE
	Actuator Kind = C.mjOBJ_ACTUATOR
	Sensor   Kind = C.mjOBJ_SENSOR
)

// String returns the name of the kind in MJCF.
func (k Kind) String() string { return C.GoString(C.mju_type2Str(C.int(k))) }

// count returns how many objects of the kind a model has.
func (k Kind) count(m *C.mjModel) int {
	return map[Kind]int{
		Body: int(m.nbody), Joint: int(m.njnt), Geom: int(m.ngeom), Site: int(m.nsite),
		Actuator: int(C.gm_actuators(m)), Sensor: int(m.nsensor),
	}[k]
}

// ID returns the index of a named object. The error lists the existing names.
func (m *Model) ID(kind Kind, name string) (int, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	if id := int(C.mj_name2id(m.m, C.int(kind), c)); id >= 0 {
		return id, nil
	}
	return 0, fmt.Errorf("mujoco: model: no %v named %q; there are %q", kind, name, m.Names(kind))
}

// Names returns the names of all objects of a kind by index. The name of an unnamed object is empty.
func (m *Model) Names(kind Kind) []string {
	out := make([]string, kind.count(m.m))
	for i := range out {
		if s := C.mj_id2name(m.m, C.int(kind), C.int(i)); s != nil {
			out[i] = C.GoString(s)
		}
	}
	return out
}

// JointAddress returns the indices at which a named joint's values begin in the positions and in the velocities.
func (m *Model) JointAddress(name string) (qpos, qvel int, err error) {
	id, err := m.ID(Joint, name)
	if err != nil {
		return 0, 0, err
	}
	n := int(m.m.njnt)
	return int(unsafe.Slice(m.m.jnt_qposadr, n)[id]), int(unsafe.Slice(m.m.jnt_dofadr, n)[id]), nil
}

// JointRange returns the limits of a named joint in radians or metres. ok is false if the joint is unlimited.
func (m *Model) JointRange(name string) (low, high float64, ok bool, err error) {
	id, err := m.ID(Joint, name)
	if err != nil {
		return 0, 0, false, err
	}
	low, high, ok = m.jointRange(id)
	return low, high, ok, nil
}

// jointRange is JointRange of joint i.
func (m *Model) jointRange(i int) (low, high float64, ok bool) {
	low, high = limits(m.m.jnt_range, i)
	return low, high, flagAt(unsafe.Pointer(m.m.jnt_limited), i)
}

// vertices returns the points (V, 3) of the mesh of a geom, a view of C memory.
func (m *Model) vertices(g int) []float32 {
	mesh := int(unsafe.Slice(m.m.geom_dataid, g+1)[g])
	first := int(unsafe.Slice(m.m.mesh_vertadr, mesh+1)[mesh])
	count := int(unsafe.Slice(m.m.mesh_vertnum, mesh+1)[mesh])
	return unsafe.Slice((*float32)(unsafe.Pointer(m.m.mesh_vert)), 3*(first+count))[3*first:]
}

// floats returns a view of n numbers in C memory, nil if there are none. The view is valid as long as that memory.
func floats(p *C.mjtNum, n int) []float64 {
	if n == 0 || p == nil {
		return nil
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(p)), n)
}
