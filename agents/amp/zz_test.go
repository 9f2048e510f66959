package amp
import ("testing";"context";"os";"encoding/json"
"github.com/gorl-dev/gorl/internal/golden"
"github.com/gorl-dev/gorl/tensor")
func TestZZ(t *testing.T) {
	golden.Each(t, "amp", func(t *testing.T, c *golden.Case) {
		if len(c.Updates)<2 {return}
		policy, value, discriminator := c.Policy(t), c.Network(t, "value"), c.Network(t, "discriminator")
		a, _ := New(Options{Spaces: c.Spaces(), NumEnvs: c.Envs, Config: c.Config, Motions: stillness(c.AMPObservationSize),
			Models: Models{Policy: policy, Value: value, Discriminator: discriminator}})
		rows := &recorded{t: t}
		a.draw = rows
		x := &golden.Subject{Case: c, Agent: a, Policy: policy, Value: value, Rollout: a.Rollout, Flat: a.Flat}
		x.Start(t)
		u:=&c.Updates[0]
		x.Collect(t, golden.NewComparison(t), u); rows.update=u
		a.Update(context.Background())
		out:=map[string][]float32{}
		for _,n:=range []string{"style_rewards","rewards","returns","values","next_values","advantages"} { out[n],_=tensor.Float32s(a.Rollout.Tensor(n)) }
		b,_:=json.Marshal(out); os.WriteFile("/tmp/zz.json",b,0o644)
	})
}
