package rlgames

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// plain is a file as most are.
const plain = `
params:
  seed: 42
  algo: {name: a2c_continuous}
  model: {name: continuous_a2c_logstd}
  network:
    name: actor_critic
    separate: False
    space:
      continuous:
        mu_activation: None
        sigma_activation: None
        mu_init: {name: default}
        sigma_init: {name: const_initializer, val: 0}
        fixed_sigma: True
    mlp:
      units: [64, 32]
      activation: elu
      d2rl: False
      initializer: {name: default}
      regularizer: {name: None}
  load_checkpoint: False
  load_path: ''
  config:
    name: reach
    env_name: rlgpu
    device: 'cuda:0'
    multi_gpu: False
    ppo: True
    mixed_precision: True
    normalize_input: True
    normalize_value: True
    value_bootstrap: True
    num_actors: -1
    reward_shaper: {scale_value: 0.1}
    normalize_advantage: True
    gamma: 0.99
    tau: 0.95
    learning_rate: 3e-4
    lr_schedule: adaptive
    kl_threshold: 0.008
    score_to_win: 20000
    max_epochs: 500
    save_best_after: 100
    save_frequency: 50
    grad_norm: 1.0
    entropy_coef: 0.001
    truncate_grads: True
    e_clip: 0.2
    horizon_length: 16
    minibatch_size: 512
    mini_epochs: 4
    critic_coef: 2
    clip_value: True
    bounds_loss_coef: 0.0001
`

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	dict := must.Get(config.FromYAML([]byte(text)))(t)
	return dict
}

// at returns the value at a dotted path of sections; nil where there is none.
func at(sections map[string]any, path string) any {
	var value any = sections
	for _, key := range strings.Split(path, ".") {
		section, _ := value.(map[string]any)
		value = section[key]
	}
	return value
}

// A whole file becomes a whole configuration.
func TestConvert(t *testing.T) {
	c := must.Get(Convert(parse(t, plain), Options{NumEnvs: 64}))(t)
	want := parse(t, `
seed: 42
environment: {wrappers: [rescale_action]}
models:
  separate: false
  policy:
    class: GaussianMixin
    clip_actions: false
    clip_log_std: false
    initial_log_std: 0.0
    fixed_log_std: false
    initial_bias: zero
    network: [{name: mlp, input: OBSERVATIONS, layers: [64, 32], activations: elu}]
    output: ACTIONS
  value:
    class: DeterministicMixin
    initial_bias: zero
    network: [{name: mlp, input: OBSERVATIONS, layers: [64, 32], activations: elu}]
    output: ONE
agent:
  class: PPO
  rollouts: 16
  learning_epochs: 4
  mini_batch_size: 512
  mini_batch_order: environments
  discount_factor: 0.99
  gae_lambda: 0.95
  learning_rate: 0.0003
  learning_rate_scheduler: KLAdaptiveLR
  learning_rate_scheduler_kwargs:
    {kl_threshold: 0.008, min_lr: 1.0e-06, max_lr: 0.01, step: minibatch, divergence: gaussian}
  weight_decay: 0.0
  observation_preprocessor: RunningStandardScaler
  value_preprocessor: RunningStandardScaler
  advantage_normalization: rollout
  grad_norm_clip: 1.0
  ratio_clip: 0.2
  value_clip: 0.2
  entropy_loss_scale: 0.001
  value_loss_scale: 1.0
  bounds_loss_scale: 0.0001
  bounds_loss_type: limit
  time_limit_bootstrap: true
  rewards_shaper_scale: 0.1
trainer: {timesteps: 8000, checkpoint_interval: 800, stop_at_episode_return: 20000.0, name: reach}
`)
	if diff := cmp.Diff(want, c.Sections); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	idle := []string{"these keys have no meaning for gorl: config.device, config.env_name, config.mixed_precision, " +
		"config.multi_gpu, config.num_actors, config.save_best_after, load_path, network.mlp.regularizer"}
	if diff := cmp.Diff(idle, c.Notes); diff != "" {
		t.Errorf("notes: -want +got:\n%s", diff)
	}
}

// converted is the plain file with some of its params changed.
func converted(t testing.TB, assignments ...string) (*Configuration, error) {
	t.Helper()
	o := Options{NumEnvs: 64}
	for _, a := range assignments {
		o.Overrides = append(o.Overrides, "agent.params."+a)
	}
	return Convert(parse(t, plain), o)
}

// Every key that is honoured becomes what the table says, and keys that contradict each other are refused.
func TestKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range changes {
		assignments := strings.Fields(strings.ReplaceAll(x.set, ":", ":\x00"))
		for i, a := range assignments {
			assignments[i] = strings.ReplaceAll(a, ":\x00", ": ")
		}
		for _, k := range keys {
			if strings.Contains(x.set, k.path[strings.LastIndex(k.path, ".")+1:]) {
				seen[k.path] = true
			}
		}
		c, err := converted(t, assignments...)
		if x.err != "" {
			must.RefuseAs(t, x.set, err, x.err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", x.set, err)
			continue
		}
		for path, text := range x.want {
			if diff := cmp.Diff(parse(t, "x: "+text)["x"], at(c.Sections, path)); diff != "" {
				t.Errorf("%s: %s: -want +got:\n%s", x.set, path, diff)
			}
		}
		if x.note != "" && !strings.Contains(strings.Join(c.Notes, "\n"), x.note) {
			t.Errorf("%s: the notes are %q, want %s", x.set, c.Notes, x.note)
		}
	}
	for _, k := range keys {
		if k.fate == isHonoured && !seen[k.path] {
			t.Errorf("no case changes %s", k.path)
		}
	}
	_, err := Convert(parse(t, plain), Options{Overrides: []string{"params.config.max_frames=100"}})
	must.RefuseAs(t, "frames of an unknown number of environments", err, "give --num-envs N")
}

// Hydra's references, as IsaacGymEnvs has them.
func TestReferences(t *testing.T) {
	text := strings.NewReplacer("seed: 42", "seed: ${...seed}", "name: reach",
		"name: ${resolve_default:Ant,${....experiment}}\n    full_experiment_name: ${.name}_${..algo.name}",
		"num_actors: -1", "num_actors: ${....task.env.numEnvs}",
		"max_epochs: 500", "max_epochs: ${resolve_default:1_000,${....max_iterations}}",
		"mini_epochs: 4", "mini_epochs: ${if:${eq:ant,${.env_name}},3,${if:${contains:RL,${.env_name}},5,6}}",
	).Replace(plain)
	c := must.Get(Convert(parse(t, text), Options{NumEnvs: 64}))(t)
	for path, want := range map[string]any{"seed": 42, "trainer.name": "Ant_a2c_continuous", "trainer.timesteps": 16000,
		"agent.learning_epochs": 5} {
		if got := at(c.Sections, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	for from, want := range map[string]string{
		"${.gamma}":  "leads back to itself",
		"${.gama}":   `"params.config.gamma" is "${.gama}": it refers to what is not in the file`,
		"${max:1,2}": `there is no function "max"`, "${.......x}": "climbs above the top",
		"${if:1,2}": "if has 2 arguments, want 3", "${.tau": "a ${ has no }",
	} {
		_, err := Convert(parse(t, strings.Replace(plain, "gamma: 0.99", "gamma: "+from, 1)), Options{NumEnvs: 64})
		must.RefuseAs(t, from, err, want)
	}
}

// A file stands on those that it names, in their order.
func TestDefaults(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	write("Base.yaml", plain)
	for path, want := range map[string]string{
		write("Over.yaml", "defaults: [Base, _self_]\nparams: {config: {gamma: 0.5, mini_epochs: 2}}"):     "0.5 2 0",
		write("Under.yaml", "defaults: [_self_, Over]\nparams: {config: {gamma: 0.7, weight_decay: 0.3}}"): "0.5 2 0.3",
		write("Plain.yaml", "defaults: [Base]\nparams: {config: {gamma: 0.25}}"):                           "0.25 4 0",
	} {
		a := must.Get(Read(path, Options{}))(t).Sections["agent"].(map[string]any)
		if got := fmt.Sprint(a["discount_factor"], a["learning_epochs"], a["weight_decay"]); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for text, want := range map[string]string{
		"defaults: [Loop]": "names itself", "defaults: [../Base]": "want the name of a file beside this one",
		"defaults: Base": "want a list of files", "params: 3": `"params" is 3`,
	} {
		path := write("Loop.yaml", text)
		must.RefusedAs(Read(path, Options{}))(t, text, want, path)
	}
	must.RefusedAs(Convert(parse(t, "{defaults: [Base], params: {}}"), Options{}))(t, "a dictionary",
		"read it by its path")
}

// Isaac Lab's population is off until it is switched on.
func TestPopulation(t *testing.T) {
	text := plain +
		"pbt: {enabled: False, num_policies: 3, objective: episode.Curriculum/adr, mutation: " +
		"{agent.params.config.learning_rate: mutate_float}}"
	c := must.Get(Convert(parse(t, text), Options{NumEnvs: 64}))(t)
	if c.Sections["pbt"] != nil || c.Sections["preset"] != nil {
		t.Errorf("a population that is off is %v", c.Sections["pbt"])
	}
	c = must.Get(Convert(parse(t, text), Options{NumEnvs: 64, Overrides: []string{"agent.pbt.enabled=True",
		"++agent.pbt.num_policies=5"}}))(t)
	want := parse(t,
		"{enabled: true, num_policies: 5, objective: episode.Curriculum/adr, mutation: "+
			"{agent.params.config.learning_rate: mutate_float}, total_steps: 512000}")
	if diff := cmp.Diff(want, c.Sections["pbt"]); diff != "" || c.Sections["preset"] != "isaaclab" {
		t.Errorf("preset %v, -want +got:\n%s", c.Sections["preset"], diff)
	}
	_, err := Convert(parse(t, text), Options{NumEnvs: 64, Overrides: []string{"pbt.enabled=often"}})
	must.Refuse(t, err, "pbt.enabled")
}

// Every line of the table is complete. A key without meaning changes nothing, whatever its value, and a note names it.
// A value that a key does not take is refused by an error with the key and the table's reason.
func TestTable(t *testing.T) {
	plainly := must.Get(converted(t))(t)
	seen := map[string]bool{}
	for _, k := range keys {
		if seen[k.path] || (k.gorl == "") != (k.fate == isRefused) || k.fate == isRefused && k.why == "" {
			t.Errorf("%s is there twice (%t) or not complete: %+v", k.path, seen[k.path], k)
		}
		seen[k.path] = true
		for _, given := range []string{"-1", "0", "7", "some", "True", "False", "{a: 1}", "null"} {
			value := parse(t, "x: "+given)["x"]
			read, ok := k.kind.read(value)
			inSection := strings.HasPrefix(k.path, central) || strings.HasPrefix(k.path, "network.rnn") ||
				strings.HasPrefix(k.path, "network.cnn")
			switch {
			case k.path == "algo.name" || k.fate != isIdle && value == nil:
			case k.fate == isIdle && inSection: // a section that is begun asks for more
			case k.fate == isIdle:
				c, err := converted(t, k.path+"="+given)
				if err != nil || !cmp.Equal(plainly.Sections, c.Sections) ||
					!strings.Contains(strings.Join(c.Notes, "\n"), k.path) {
					t.Errorf("%s=%s: %v; want nothing but a note", k.path, given, err)
				}
			case !ok:
				must.RefusedAs(converted(t, k.path+"="+given))(t, k.path+"="+given,
					`"params.`+k.path+`" is `, k.kind.want())
			case k.check != nil && !k.check(read):
				must.RefusedAs(converted(t, k.path+"="+given))(t, k.path+"="+given, `"params.`+k.path+`" is `, k.why)
			}
		}
	}
}

// FuzzConvert looks for files that make the reader fail.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(plain))
	f.Add([]byte("params: {algo: {name: a2c_continuous}, config: {gamma: '${.gamma}${.tau}', tau: '${.gamma}'}}"))
	f.Add([]byte(plain + "pbt: {enabled: True}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dict, err := config.FromYAML(data)
		if err != nil {
			return
		}
		c, err := Convert(dict, Options{NumEnvs: 8})
		if err != nil {
			return
		}
		text := must.Get(runfile.Sections(c.Sections).YAML())(t)
		if _, err := runfile.Parse(text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	})
}
