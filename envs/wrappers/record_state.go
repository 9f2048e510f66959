package wrappers

// Supports reports whether the environment inside is [envs.Stateful].
func (r *Record) Supports(iface any) bool { return supportsInside(r.inner, iface) }

// MarshalState returns the state of the environment inside; what is being recorded is no part of it.
func (r *Record) MarshalState() ([]byte, error) {
	in, err := stateful(r.inner)
	if err != nil {
		return nil, err
	}
	return in.MarshalState()
}

// RestoreState restores the environment inside. What was recorded of the episode that ran before is dropped, and
// recording goes on with the next episode.
func (r *Record) RestoreState(b []byte) error {
	in, err := stateful(r.inner)
	if err != nil {
		return err
	}
	if err := in.RestoreState(b); err != nil {
		return err
	}
	r.running = false
	r.discard()
	return nil
}
