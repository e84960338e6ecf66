{{/* One of workerGroupSpecs: dict root, name, group. */}}
{{- define "ray-cluster.workerGroup" -}}
{{- $own := include "ray-cluster.ownWorkerGroup" . -}}
{{- include "ray-cluster.merged" (dict "text" $own "extra" .group.extraGroupSpec) -}}
{{- end -}}

{{- define "ray-cluster.ownWorkerGroup" -}}
groupName: {{ .name }}
replicas: {{ include "ray-cluster.text" (dict "value" (.group.replicas | default 0)) }}
minReplicas: {{ include "ray-cluster.text" (dict "value" (.group.minReplicas | default 0)) }}
maxReplicas: {{ include "ray-cluster.text" (dict "value" (.group.maxReplicas | default 2147483647)) }}
numOfHosts: {{ include "ray-cluster.text" (dict "value" (.group.numOfHosts | default 1)) }}
{{- include "ray-cluster.startParams" .group }}
template:
  {{- include "ray-cluster.podTemplate" (dict "root" .root "group" .group "container" "ray-worker") | nindent 2 }}
{{- end -}}

{{/* Every worker group that is not disabled, by name; what an additional one is asked to have is bounded. */}}
{{- define "ray-cluster.workerGroups" -}}
{{- if and .Values.worker (not (.Values.worker).disabled) }}
- {{ include "ray-cluster.workerGroup" (dict "root" . "name" (.Values.worker.groupName | default "workergroup") "group" .Values.worker) | indent 2 | trim }}
{{- end }}
{{- $small := dict "cpu" "1" "memory" "1Gi" }}
{{- range $name, $group := .Values.additionalWorkerGroups }}
{{- if not ($group).disabled }}
{{- $resources := $group.resources | default (dict "limits" $small "requests" $small) }}
{{- $group = merge (dict "resources" $resources) $group }}
- {{ include "ray-cluster.workerGroup" (dict "root" $ "name" $name "group" $group) | indent 2 | trim }}
{{- end }}
{{- end }}
{{- end -}}
