{{/* Written by tools/gen_deploy.py from deploy/rbac/calls.yaml. */}}
{{- define "kuberay-operator.rules" -}}
- apiGroups:
  - ''
  resources:
  - persistentvolumeclaims
  - secrets
  - services
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - watch
- apiGroups:
  - ''
  resources:
  - pods
  verbs:
  - create
  - delete
  - deletecollection
  - get
  - list
  - patch
  - watch
- apiGroups:
  - ''
  resources:
  - pods/proxy
  verbs:
  - get
- apiGroups:
  - ''
  resources:
  - pods/resize
  verbs:
  - patch
- apiGroups:
  - ''
  resources:
  - serviceaccounts
  verbs:
  - create
  - get
  - list
  - watch
- apiGroups:
  - ''
  resources:
  - services/proxy
  verbs:
  - create
  - get
  - update
- apiGroups:
  - batch
  resources:
  - jobs
  verbs:
  - create
  - delete
  - get
  - list
  - watch
- apiGroups:
  - cert-manager.io
  resources:
  - certificates
  verbs:
  - create
  - get
  - list
  - update
  - watch
- apiGroups:
  - cert-manager.io
  resources:
  - issuers
  verbs:
  - create
  - get
  - list
  - watch
- apiGroups:
  - coordination.k8s.io
  resources:
  - leases
  verbs:
  - create
  - get
  - update
- apiGroups:
  - discovery.k8s.io
  resources:
  - endpointslices
  verbs:
  - get
  - list
  - watch
- apiGroups:
  - events.k8s.io
  resources:
  - events
  verbs:
  - create
  - patch
- apiGroups:
  - gateway.networking.k8s.io
  resources:
  - gateways
  - httproutes
  verbs:
  - create
  - delete
  - get
  - list
  - update
  - watch
- apiGroups:
  - networking.k8s.io
  resources:
  - ingresses
  - networkpolicies
  verbs:
  - create
  - delete
  - get
  - list
  - update
  - watch
- apiGroups:
  - ray.io
  resources:
  - rayclusters
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - update
  - watch
- apiGroups:
  - ray.io
  resources:
  - rayclusters/finalizers
  - rayclusters/status
  - raycronjobs/finalizers
  - raycronjobs/status
  - rayjobs/finalizers
  - rayjobs/status
  - rayservices/finalizers
  - rayservices/status
  verbs:
  - update
- apiGroups:
  - ray.io
  resources:
  - raycronjobs
  verbs:
  - create
  - get
  - list
  - watch
- apiGroups:
  - ray.io
  resources:
  - rayjobs
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - watch
- apiGroups:
  - ray.io
  resources:
  - rayservices
  verbs:
  - create
  - get
  - list
  - patch
  - watch
- apiGroups:
  - rbac.authorization.k8s.io
  resources:
  - rolebindings
  - roles
  verbs:
  - create
  - get
  - list
  - watch
- apiGroups:
  - route.openshift.io
  resources:
  - routes
  verbs:
  - create
  - delete
  - get
  - list
  - watch
{{- if include "kuberay-operator.gateEnabled" (dict "root" . "gate" "RayClusterReplaceLostHead") }}
- apiGroups:
  - ''
  resources:
  - nodes
  verbs:
  - get
{{- end }}
{{- if include "kuberay-operator.gateEnabled" (dict "root" . "gate" "RayJobKeepLog") }}
- apiGroups:
  - ''
  resources:
  - configmaps
  verbs:
  - create
  - get
{{- end }}
{{- if include "kuberay-operator.gateEnabled" (dict "root" . "gate" "KubernetesWAS") }}
- apiGroups:
  - scheduling.k8s.io
  resources:
  - podgroups
  verbs:
  - create
  - delete
  - get
  - list
  - patch
  - watch
- apiGroups:
  - scheduling.k8s.io
  resources:
  - workloads
  verbs:
  - create
  - delete
  - get
  - list
  - watch
{{- end }}
{{- if include "kuberay-operator.usesScheduler" (dict "root" . "name" "volcano") }}
- apiGroups:
  - scheduling.volcano.sh
  resources:
  - podgroups
  verbs:
  - create
  - get
  - list
  - update
  - watch
{{- end }}
{{- if include "kuberay-operator.usesScheduler" (dict "root" . "name" "scheduler-plugins") }}
- apiGroups:
  - scheduling.x-k8s.io
  resources:
  - podgroups
  verbs:
  - create
  - get
  - list
  - watch
{{- end }}
{{- end -}}

{{- define "kuberay-operator.leaderElectionRules" -}}
- apiGroups:
  - ''
  resources:
  - events
  verbs:
  - create
- apiGroups:
  - coordination.k8s.io
  resources:
  - leases
  verbs:
  - create
  - get
  - update
{{- end -}}
