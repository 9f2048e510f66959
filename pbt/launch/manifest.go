package launch

// The parts of Kubernetes' API that a population needs, in the order in which people write them. The test in
// internal/kubecheck holds what is made of them against the API's own types.

type kubeObject struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   kubeMeta          `yaml:"metadata"`
	Data       map[string]string `yaml:"data,omitempty"`
	Spec       *kubeJob          `yaml:"spec,omitempty"`
}

type kubeMeta struct {
	Name      string            `yaml:"name,omitempty"`
	Namespace string            `yaml:"namespace,omitempty"`
	Labels    map[string]string `yaml:"labels,omitempty"`
}

type kubeJob struct {
	CompletionMode       string            `yaml:"completionMode"`
	Completions          int               `yaml:"completions"`
	Parallelism          int               `yaml:"parallelism"`
	BackoffLimitPerIndex int               `yaml:"backoffLimitPerIndex"`
	MaxFailedIndexes     int               `yaml:"maxFailedIndexes"`
	PodFailurePolicy     kubeFailurePolicy `yaml:"podFailurePolicy"`
	Template             kubeTemplate      `yaml:"template"`
}

type kubeFailurePolicy struct {
	Rules []kubeFailureRule `yaml:"rules"`
}

type kubeFailureRule struct {
	Action          string             `yaml:"action"`
	OnExitCodes     *kubeExitCodes     `yaml:"onExitCodes,omitempty"`
	OnPodConditions []kubePodCondition `yaml:"onPodConditions,omitempty"`
}

type kubeExitCodes struct {
	ContainerName string `yaml:"containerName"`
	Operator      string `yaml:"operator"`
	Values        []int  `yaml:"values,flow"`
}

type kubePodCondition struct {
	Type   string `yaml:"type"`
	Status string `yaml:"status"`
}

type kubeTemplate struct {
	Metadata kubeMeta `yaml:"metadata"`
	Spec     kubePod  `yaml:"spec"`
}

type kubePod struct {
	RestartPolicy                 string          `yaml:"restartPolicy"`
	TerminationGracePeriodSeconds int64           `yaml:"terminationGracePeriodSeconds"`
	ServiceAccountName            string          `yaml:"serviceAccountName,omitempty"`
	NodeSelector                  Vars            `yaml:"nodeSelector,omitempty"`
	Tolerations                   []Toleration    `yaml:"tolerations,omitempty"`
	Containers                    []kubeContainer `yaml:"containers"`
	Volumes                       []kubeVolume    `yaml:"volumes"`
}

type kubeContainer struct {
	Name         string         `yaml:"name"`
	Image        string         `yaml:"image"`
	Command      []string       `yaml:"command"`
	Env          []kubeEnv      `yaml:"env"`
	Resources    *kubeResources `yaml:"resources,omitempty"`
	VolumeMounts []kubeMount    `yaml:"volumeMounts"`
}

type kubeEnv struct {
	Name      string      `yaml:"name"`
	Value     string      `yaml:"value,omitempty"`
	ValueFrom *kubeSource `yaml:"valueFrom,omitempty"`
}

type kubeSource struct {
	FieldRef kubeField `yaml:"fieldRef"`
}

type kubeField struct {
	FieldPath string `yaml:"fieldPath"`
}

type kubeResources struct {
	Requests Vars `yaml:"requests"`
	Limits   Vars `yaml:"limits"`
}

type kubeMount struct {
	Name      string `yaml:"name"`
	MountPath string `yaml:"mountPath"`
	ReadOnly  bool   `yaml:"readOnly,omitempty"`
}

type kubeVolume struct {
	Name      string         `yaml:"name"`
	Claim     *kubeClaim     `yaml:"persistentVolumeClaim,omitempty"`
	ConfigMap *kubeConfigMap `yaml:"configMap,omitempty"`
}

type kubeClaim struct {
	ClaimName string `yaml:"claimName"`
}

type kubeConfigMap struct {
	Name string `yaml:"name"`
}
