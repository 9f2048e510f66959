package workspace

import (
	"cmp"
	"fmt"
	"slices"
)

// withDefaults fills in the defaults: cleanup is Isaac Lab's, 20 iterations behind the slowest; thinning is IsaacGymEnvs',
// 25 of which the newest 10 are safe.
func (k Keep) withDefaults() (Keep, error) {
	if min(k.Oldest, k.Back, k.Most, k.Newest) < 0 {
		return k, fmt.Errorf("workspace: %+v has a negative number; want 0 for the default, or more", k)
	}
	k.Back, k.Most, k.Newest = cmp.Or(k.Back, 20), cmp.Or(k.Most, 25), cmp.Or(k.Newest, 10)
	return k, nil
}

// superfluous returns in ascending order which of the iterations, also ascending, are not to be kept. The last one is
// always kept.
//
// What lies Back or more before the slowest member goes. Of more than Most, as often as needed, that one goes whose
// absence leaves the smallest gap, the first of equals, leaving alone the newest ones and both ends of the others.
func (k Keep) superfluous(iterations []int64) []int64 {
	if len(iterations) == 0 {
		return nil
	}
	var gone []int64
	rest := slices.Clone(iterations)
	for len(rest) > 1 && rest[0] <= k.Oldest-k.Back {
		gone, rest = append(gone, rest[0]), rest[1:]
	}
	for int64(len(rest)) > k.Most {
		old := rest[:max(0, int64(len(rest))-max(1, k.Newest))]
		if len(old) < 3 {
			break
		}
		least := 1
		for i := 2; i < len(old)-1; i++ {
			if old[i+1]-old[i-1] < old[least+1]-old[least-1] {
				least = i
			}
		}
		gone, rest = append(gone, rest[least]), slices.Delete(rest, least, least+1)
	}
	slices.Sort(gone)
	return gone
}
