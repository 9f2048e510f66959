package wrappers

import (
	"errors"

	"github.com/gorl-dev/gorl/envs"
)

// Rewrap returns a batch of the environments of p, each inside what wrap puts around it, such as [NewTimeLimit] or the
// games of package pbt/selfplay. The batch has the generators and the number of workers of p. It takes over the
// environments: after Rewrap, p must not be used. After an error everything is closed.
func Rewrap(p *Parallel, wrap func(i int, single envs.Single) (envs.Single, error)) (*Parallel, error) {
	if p.closed {
		return nil, errors.New("wrappers: Rewrap of a batch that is closed")
	}
	made := 0
	q, err := NewParallel(len(p.singles), func(i int) (envs.Single, error) {
		s, err := wrap(i, p.singles[i])
		if err == nil && s != nil {
			made++
		}
		return s, err
	}, ParallelOptions{Workers: len(p.chunks)})
	if err != nil {
		p.singles = p.singles[made:] // NewParallel has closed the others
		return nil, errors.Join(err, p.Close())
	}
	for i := range p.pcgs {
		*q.pcgs[i] = *p.pcgs[i]
	}
	p.singles = nil // Close only stops the workers
	return q, p.Close()
}
