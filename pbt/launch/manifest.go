package launch

// This file has the parts of Kubernetes' API that a population needs, with the fields in the order in which people
// write them. They are declared here, and not imported, so that gorl does not depend on Kubernetes' client libraries.
// The test in internal/kubecheck compares the manifests with the API's own types. kubernetes.go fills them in.

// kubeObject is a ConfigMap, which has Data, or a Job or a Service, which have Spec: a *kubeJob or a *kubeService.
type kubeObject struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   kubeMeta          `yaml:"metadata"`
	Data       map[string]string `yaml:"data,omitempty"`
	Spec       any               `yaml:"spec,omitempty"`
}

// kubeService is a headless Service: names for pods, and no address of its own.
type kubeService struct {
	ClusterIP                string            `yaml:"clusterIP"`
	PublishNotReadyAddresses bool              `yaml:"publishNotReadyAddresses"`
	Selector                 map[string]string `yaml:"selector"`
}

// kubeMeta names an object. Labels let people select all of a population's objects at once.
type kubeMeta struct {
	Name      string            `yaml:"name,omitempty"`
	Namespace string            `yaml:"namespace,omitempty"`
	Labels    map[string]string `yaml:"labels,omitempty"`
}

// kubeJob is an Indexed Job: every index from 0 to Completions-1 is a member, or one of its ranks, and has one pod at a
// time.
type kubeJob struct {
	// CompletionMode is Indexed, so that pods know their member.
	CompletionMode string `yaml:"completionMode"`
	Completions    int    `yaml:"completions"`
	Parallelism    int    `yaml:"parallelism"`
	// BackoffLimitPerIndex is the number of failures of one member after which it is given up, MaxFailedIndexes the
	// number of members given up after which the whole Job ends.
	BackoffLimitPerIndex int               `yaml:"backoffLimitPerIndex"`
	MaxFailedIndexes     int               `yaml:"maxFailedIndexes"`
	PodFailurePolicy     kubeFailurePolicy `yaml:"podFailurePolicy"`
	Template             kubeTemplate      `yaml:"template"`
}

// kubeFailurePolicy tells failures, which count towards BackoffLimitPerIndex, from exits that only ask to be started
// again.
type kubeFailurePolicy struct {
	Rules []kubeFailureRule `yaml:"rules"`
}

// kubeFailureRule says what follows from the exit status of a container, or from a condition of its pod.
type kubeFailureRule struct {
	Action          string             `yaml:"action"`
	OnExitCodes     *kubeExitCodes     `yaml:"onExitCodes,omitempty"`
	OnPodConditions []kubePodCondition `yaml:"onPodConditions,omitempty"`
}

// kubeExitCodes matches exit statuses.
type kubeExitCodes struct {
	ContainerName string `yaml:"containerName"`
	Operator      string `yaml:"operator"`
	Values        []int  `yaml:"values,flow"`
}

// kubePodCondition matches a pod that the cluster itself has ended, for instance to drain its node.
type kubePodCondition struct {
	Type   string `yaml:"type"`
	Status string `yaml:"status"`
}

// kubeTemplate is what the pods are made of.
type kubeTemplate struct {
	Metadata kubeMeta `yaml:"metadata"`
	Spec     kubePod  `yaml:"spec"`
}

// kubePod is a pod with one container, the member.
type kubePod struct {
	RestartPolicy                 string          `yaml:"restartPolicy"`
	TerminationGracePeriodSeconds int64           `yaml:"terminationGracePeriodSeconds"`
	ServiceAccountName            string          `yaml:"serviceAccountName,omitempty"`
	Subdomain                     string          `yaml:"subdomain,omitempty"`
	NodeSelector                  Vars            `yaml:"nodeSelector,omitempty"`
	Tolerations                   []Toleration    `yaml:"tolerations,omitempty"`
	Containers                    []kubeContainer `yaml:"containers"`
	Volumes                       []kubeVolume    `yaml:"volumes"`
}

// kubeContainer runs the member program.
type kubeContainer struct {
	Name         string         `yaml:"name"`
	Image        string         `yaml:"image"`
	Command      []string       `yaml:"command"`
	Env          []kubeEnv      `yaml:"env"`
	Resources    *kubeResources `yaml:"resources,omitempty"`
	VolumeMounts []kubeMount    `yaml:"volumeMounts"`
}

// kubeEnv is a variable of the environment, whose value is given or comes from the pod itself.
type kubeEnv struct {
	Name      string      `yaml:"name"`
	Value     string      `yaml:"value,omitempty"`
	ValueFrom *kubeSource `yaml:"valueFrom,omitempty"`
}

// kubeSource takes a value from a field of the pod, such as an annotation.
type kubeSource struct {
	FieldRef kubeField `yaml:"fieldRef"`
}

// kubeField names a field of the pod by its path.
type kubeField struct {
	FieldPath string `yaml:"fieldPath"`
}

// kubeResources has the same amounts as requests and as limits, so that a pod is the last to be evicted.
type kubeResources struct {
	Requests Vars `yaml:"requests"`
	Limits   Vars `yaml:"limits"`
}

// kubeMount puts a volume into the container's file system.
type kubeMount struct {
	Name      string `yaml:"name"`
	MountPath string `yaml:"mountPath"`
	ReadOnly  bool   `yaml:"readOnly,omitempty"`
}

// kubeVolume is the shared folder (Claim) or the canonical file (ConfigMap).
type kubeVolume struct {
	Name      string         `yaml:"name"`
	Claim     *kubeClaim     `yaml:"persistentVolumeClaim,omitempty"`
	ConfigMap *kubeConfigMap `yaml:"configMap,omitempty"`
}

// kubeClaim refers to a PersistentVolumeClaim in the namespace of the pod.
type kubeClaim struct {
	ClaimName string `yaml:"claimName"`
}

// kubeConfigMap refers to the ConfigMap with the canonical file.
type kubeConfigMap struct {
	Name string `yaml:"name"`
}
