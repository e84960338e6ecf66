{{/* The Pod template of a group: dict root, group, container (the Ray container's name). */}}
{{- define "ray-cluster.podTemplate" -}}
metadata:
  labels:
    {{- include "ray-cluster.labels" .root | nindent 4 }}
    {{- with .group.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .group.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "ray-cluster.merged" (dict "text" (include "ray-cluster.podSpec" .) "extra" .group.extraPodSpec) | nindent 2 }}
{{- end -}}

{{- define "ray-cluster.podSpec" -}}
{{- include "ray-cluster.fields" (dict "group" .group "keys" (list "initContainers")) }}
containers:
  - {{ include "ray-cluster.merged" (dict "text" (include "ray-cluster.container" .) "extra" .group.extraContainerSpec) | indent 4 | trim }}
  {{- with .group.sidecarContainers }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .group.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- include "ray-cluster.fields" (dict "group" .group "keys" (list "volumes" "dnsConfig" "nodeSelector" "affinity"
    "tolerations" "topologySpreadConstraints" "priorityClassName" "priority" "restartPolicy" "runtimeClassName"
    "serviceAccountName" "resourceClaims")) }}
{{- end -}}

{{- define "ray-cluster.container" -}}
{{- $image := .group.image | default .root.Values.image | default dict -}}
name: {{ .container }}
image: "{{ $image.repository | default "rayproject/ray" }}:{{ $image.tag | default "2.52.0" }}"
imagePullPolicy: {{ $image.pullPolicy | default "IfNotPresent" }}
{{- with concat ((.root.Values.common).containerEnv | default list) (.group.containerEnv | default list) }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- include "ray-cluster.fields" (dict "group" .group "keys" (list "command" "args" "envFrom" "ports" "resources"
    "lifecycle" "securityContext" "volumeMounts")) }}
{{- end -}}
