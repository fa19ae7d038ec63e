import datetime

from cruster_client.proto import common_pb2 as _common_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PushMetadata(_message.Message):
    __slots__ = ("namespace", "name", "config", "allow_http", "check", "move_open", "unset_config", "replace_config", "revoke_http", "replace_http", "take_away")
    class ConfigEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    ALLOW_HTTP_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    MOVE_OPEN_FIELD_NUMBER: _ClassVar[int]
    UNSET_CONFIG_FIELD_NUMBER: _ClassVar[int]
    REPLACE_CONFIG_FIELD_NUMBER: _ClassVar[int]
    REVOKE_HTTP_FIELD_NUMBER: _ClassVar[int]
    REPLACE_HTTP_FIELD_NUMBER: _ClassVar[int]
    TAKE_AWAY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    config: _containers.ScalarMap[str, str]
    allow_http: _containers.RepeatedScalarFieldContainer[str]
    check: bool
    move_open: bool
    unset_config: _containers.RepeatedScalarFieldContainer[str]
    replace_config: bool
    revoke_http: _containers.RepeatedScalarFieldContainer[str]
    replace_http: bool
    take_away: bool
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., config: _Optional[_Mapping[str, str]] = ..., allow_http: _Optional[_Iterable[str]] = ..., check: _Optional[bool] = ..., move_open: _Optional[bool] = ..., unset_config: _Optional[_Iterable[str]] = ..., replace_config: _Optional[bool] = ..., revoke_http: _Optional[_Iterable[str]] = ..., replace_http: _Optional[bool] = ..., take_away: _Optional[bool] = ...) -> None: ...

class PushModuleRequest(_message.Message):
    __slots__ = ("metadata", "binary")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    BINARY_FIELD_NUMBER: _ClassVar[int]
    metadata: PushMetadata
    binary: bytes
    def __init__(self, metadata: _Optional[_Union[PushMetadata, _Mapping]] = ..., binary: _Optional[bytes] = ...) -> None: ...

class UploadModuleRequest(_message.Message):
    __slots__ = ("metadata", "chunk")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    metadata: PushMetadata
    chunk: bytes
    def __init__(self, metadata: _Optional[_Union[PushMetadata, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class PushModuleResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: PushResult
    def __init__(self, result: _Optional[_Union[PushResult, _Mapping]] = ...) -> None: ...

class UploadModuleResponse(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: PushResult
    def __init__(self, result: _Optional[_Union[PushResult, _Mapping]] = ...) -> None: ...

class PushResult(_message.Message):
    __slots__ = ("deployment", "moved", "unmoved", "first_unmoved")
    DEPLOYMENT_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    UNMOVED_FIELD_NUMBER: _ClassVar[int]
    FIRST_UNMOVED_FIELD_NUMBER: _ClassVar[int]
    deployment: Deployment
    moved: int
    unmoved: int
    first_unmoved: _common_pb2.MoveResult
    def __init__(self, deployment: _Optional[_Union[Deployment, _Mapping]] = ..., moved: _Optional[int] = ..., unmoved: _Optional[int] = ..., first_unmoved: _Optional[_Union[_common_pb2.MoveResult, _Mapping]] = ...) -> None: ...

class CheckModuleMetadata(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class CheckModuleRequest(_message.Message):
    __slots__ = ("metadata", "chunk")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    metadata: CheckModuleMetadata
    chunk: bytes
    def __init__(self, metadata: _Optional[_Union[CheckModuleMetadata, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class CheckModuleResponse(_message.Message):
    __slots__ = ("done", "total", "execution", "fits", "reason", "diff")
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    FITS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DIFF_FIELD_NUMBER: _ClassVar[int]
    done: int
    total: int
    execution: _common_pb2.Execution
    fits: bool
    reason: str
    diff: _common_pb2.Diff
    def __init__(self, done: _Optional[int] = ..., total: _Optional[int] = ..., execution: _Optional[_Union[_common_pb2.Execution, _Mapping]] = ..., fits: _Optional[bool] = ..., reason: _Optional[str] = ..., diff: _Optional[_Union[_common_pb2.Diff, _Mapping]] = ...) -> None: ...

class ListDeploymentsRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class ListDeploymentsResponse(_message.Message):
    __slots__ = ("deployments",)
    DEPLOYMENTS_FIELD_NUMBER: _ClassVar[int]
    deployments: _containers.RepeatedCompositeFieldContainer[Deployment]
    def __init__(self, deployments: _Optional[_Iterable[_Union[Deployment, _Mapping]]] = ...) -> None: ...

class GetDeploymentRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class GetDeploymentResponse(_message.Message):
    __slots__ = ("deployment",)
    DEPLOYMENT_FIELD_NUMBER: _ClassVar[int]
    deployment: Deployment
    def __init__(self, deployment: _Optional[_Union[Deployment, _Mapping]] = ...) -> None: ...

class Deployment(_message.Message):
    __slots__ = ("namespace", "name", "digest", "version", "update_time", "config_keys", "allow_http", "imports", "sdk", "workflows", "activities", "entities")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    CONFIG_KEYS_FIELD_NUMBER: _ClassVar[int]
    ALLOW_HTTP_FIELD_NUMBER: _ClassVar[int]
    IMPORTS_FIELD_NUMBER: _ClassVar[int]
    SDK_FIELD_NUMBER: _ClassVar[int]
    WORKFLOWS_FIELD_NUMBER: _ClassVar[int]
    ACTIVITIES_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    digest: str
    version: int
    update_time: _timestamp_pb2.Timestamp
    config_keys: _containers.RepeatedScalarFieldContainer[str]
    allow_http: _containers.RepeatedScalarFieldContainer[str]
    imports: _containers.RepeatedScalarFieldContainer[str]
    sdk: str
    workflows: _containers.RepeatedCompositeFieldContainer[WorkflowInfo]
    activities: _containers.RepeatedCompositeFieldContainer[ActivityInfo]
    entities: _containers.RepeatedCompositeFieldContainer[EntityInfo]
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., digest: _Optional[str] = ..., version: _Optional[int] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., config_keys: _Optional[_Iterable[str]] = ..., allow_http: _Optional[_Iterable[str]] = ..., imports: _Optional[_Iterable[str]] = ..., sdk: _Optional[str] = ..., workflows: _Optional[_Iterable[_Union[WorkflowInfo, _Mapping]]] = ..., activities: _Optional[_Iterable[_Union[ActivityInfo, _Mapping]]] = ..., entities: _Optional[_Iterable[_Union[EntityInfo, _Mapping]]] = ...) -> None: ...

class WorkflowInfo(_message.Message):
    __slots__ = ("name", "key", "input", "output", "signals", "queries", "updates", "state", "attributes", "deferreds", "any_deferred")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    UPDATES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    DEFERREDS_FIELD_NUMBER: _ClassVar[int]
    ANY_DEFERRED_FIELD_NUMBER: _ClassVar[int]
    name: str
    key: str
    input: Schema
    output: Schema
    signals: _containers.RepeatedCompositeFieldContainer[SignalInfo]
    queries: _containers.RepeatedCompositeFieldContainer[QueryInfo]
    updates: _containers.RepeatedCompositeFieldContainer[UpdateInfo]
    state: _containers.RepeatedCompositeFieldContainer[StateInfo]
    attributes: _containers.RepeatedCompositeFieldContainer[AttributeInfo]
    deferreds: _containers.RepeatedCompositeFieldContainer[DeferredInfo]
    any_deferred: bool
    def __init__(self, name: _Optional[str] = ..., key: _Optional[str] = ..., input: _Optional[_Union[Schema, _Mapping]] = ..., output: _Optional[_Union[Schema, _Mapping]] = ..., signals: _Optional[_Iterable[_Union[SignalInfo, _Mapping]]] = ..., queries: _Optional[_Iterable[_Union[QueryInfo, _Mapping]]] = ..., updates: _Optional[_Iterable[_Union[UpdateInfo, _Mapping]]] = ..., state: _Optional[_Iterable[_Union[StateInfo, _Mapping]]] = ..., attributes: _Optional[_Iterable[_Union[AttributeInfo, _Mapping]]] = ..., deferreds: _Optional[_Iterable[_Union[DeferredInfo, _Mapping]]] = ..., any_deferred: _Optional[bool] = ...) -> None: ...

class UpdateInfo(_message.Message):
    __slots__ = ("name", "input", "output", "validated")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    VALIDATED_FIELD_NUMBER: _ClassVar[int]
    name: str
    input: Schema
    output: Schema
    validated: bool
    def __init__(self, name: _Optional[str] = ..., input: _Optional[_Union[Schema, _Mapping]] = ..., output: _Optional[_Union[Schema, _Mapping]] = ..., validated: _Optional[bool] = ...) -> None: ...

class StateInfo(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: Schema
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[Schema, _Mapping]] = ...) -> None: ...

class AttributeInfo(_message.Message):
    __slots__ = ("name", "type")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ...) -> None: ...

class QueryInfo(_message.Message):
    __slots__ = ("name", "input", "output")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    name: str
    input: Schema
    output: Schema
    def __init__(self, name: _Optional[str] = ..., input: _Optional[_Union[Schema, _Mapping]] = ..., output: _Optional[_Union[Schema, _Mapping]] = ...) -> None: ...

class SignalInfo(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: Schema
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[Schema, _Mapping]] = ...) -> None: ...

class DeferredInfo(_message.Message):
    __slots__ = ("name", "value", "dynamic")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DYNAMIC_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: Schema
    dynamic: bool
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[Schema, _Mapping]] = ..., dynamic: _Optional[bool] = ...) -> None: ...

class EntityInfo(_message.Message):
    __slots__ = ("name", "state", "state_version", "operations")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: Schema
    state_version: int
    operations: _containers.RepeatedCompositeFieldContainer[OperationInfo]
    def __init__(self, name: _Optional[str] = ..., state: _Optional[_Union[Schema, _Mapping]] = ..., state_version: _Optional[int] = ..., operations: _Optional[_Iterable[_Union[OperationInfo, _Mapping]]] = ...) -> None: ...

class OperationInfo(_message.Message):
    __slots__ = ("name", "input", "output", "persisted", "read_only")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    PERSISTED_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    name: str
    input: Schema
    output: Schema
    persisted: bool
    read_only: bool
    def __init__(self, name: _Optional[str] = ..., input: _Optional[_Union[Schema, _Mapping]] = ..., output: _Optional[_Union[Schema, _Mapping]] = ..., persisted: _Optional[bool] = ..., read_only: _Optional[bool] = ...) -> None: ...

class ActivityInfo(_message.Message):
    __slots__ = ("name", "input", "output", "retries", "timeout", "first_pause", "backoff")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    RETRIES_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    FIRST_PAUSE_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_FIELD_NUMBER: _ClassVar[int]
    name: str
    input: Schema
    output: Schema
    retries: int
    timeout: _duration_pb2.Duration
    first_pause: _duration_pb2.Duration
    backoff: str
    def __init__(self, name: _Optional[str] = ..., input: _Optional[_Union[Schema, _Mapping]] = ..., output: _Optional[_Union[Schema, _Mapping]] = ..., retries: _Optional[int] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., first_pause: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., backoff: _Optional[str] = ...) -> None: ...

class Schema(_message.Message):
    __slots__ = ("type", "bits", "nullable", "elem", "fields")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    BITS_FIELD_NUMBER: _ClassVar[int]
    NULLABLE_FIELD_NUMBER: _ClassVar[int]
    ELEM_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    type: str
    bits: int
    nullable: bool
    elem: Schema
    fields: _containers.RepeatedCompositeFieldContainer[Field]
    def __init__(self, type: _Optional[str] = ..., bits: _Optional[int] = ..., nullable: _Optional[bool] = ..., elem: _Optional[_Union[Schema, _Mapping]] = ..., fields: _Optional[_Iterable[_Union[Field, _Mapping]]] = ...) -> None: ...

class Field(_message.Message):
    __slots__ = ("name", "required", "schema")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    name: str
    required: bool
    schema: Schema
    def __init__(self, name: _Optional[str] = ..., required: _Optional[bool] = ..., schema: _Optional[_Union[Schema, _Mapping]] = ...) -> None: ...
