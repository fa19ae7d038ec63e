import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Encoding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENCODING_UNSPECIFIED: _ClassVar[Encoding]
    ENCODING_MSGPACK: _ClassVar[Encoding]
    ENCODING_JSON: _ClassVar[Encoding]

class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATE_UNSPECIFIED: _ClassVar[State]
    STATE_RUNNING: _ClassVar[State]
    STATE_PAUSED: _ClassVar[State]
    STATE_COMPLETED: _ClassVar[State]
    STATE_FAILED: _ClassVar[State]
    STATE_INTERRUPTED: _ClassVar[State]
ENCODING_UNSPECIFIED: Encoding
ENCODING_MSGPACK: Encoding
ENCODING_JSON: Encoding
STATE_UNSPECIFIED: State
STATE_RUNNING: State
STATE_PAUSED: State
STATE_COMPLETED: State
STATE_FAILED: State
STATE_INTERRUPTED: State

class Payload(_message.Message):
    __slots__ = ("msgpack", "json")
    MSGPACK_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    msgpack: bytes
    json: str
    def __init__(self, msgpack: _Optional[bytes] = ..., json: _Optional[str] = ...) -> None: ...

class Error(_message.Message):
    __slots__ = ("code", "message", "hint", "type", "retryable", "details")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    hint: str
    type: str
    retryable: bool
    details: bytes
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., hint: _Optional[str] = ..., type: _Optional[str] = ..., retryable: _Optional[bool] = ..., details: _Optional[bytes] = ...) -> None: ...

class Execution(_message.Message):
    __slots__ = ("name", "namespace", "workflow", "key", "id", "digest", "state", "result", "error", "create_time", "end_time", "interruption", "parent_id", "run_id", "attributes", "progress", "continued", "chain_id", "parent")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    INTERRUPTION_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    CONTINUED_FIELD_NUMBER: _ClassVar[int]
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    name: str
    namespace: str
    workflow: str
    key: str
    id: str
    digest: str
    state: State
    result: Payload
    error: Error
    create_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    interruption: Interruption
    parent_id: str
    run_id: str
    attributes: _containers.RepeatedCompositeFieldContainer[Attribute]
    progress: Progress
    continued: int
    chain_id: str
    parent: str
    def __init__(self, name: _Optional[str] = ..., namespace: _Optional[str] = ..., workflow: _Optional[str] = ..., key: _Optional[str] = ..., id: _Optional[str] = ..., digest: _Optional[str] = ..., state: _Optional[_Union[State, str]] = ..., result: _Optional[_Union[Payload, _Mapping]] = ..., error: _Optional[_Union[Error, _Mapping]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., interruption: _Optional[_Union[Interruption, _Mapping]] = ..., parent_id: _Optional[str] = ..., run_id: _Optional[str] = ..., attributes: _Optional[_Iterable[_Union[Attribute, _Mapping]]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., continued: _Optional[int] = ..., chain_id: _Optional[str] = ..., parent: _Optional[str] = ...) -> None: ...

class Attribute(_message.Message):
    __slots__ = ("name", "text", "number", "boolean", "time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    text: str
    number: float
    boolean: bool
    time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., text: _Optional[str] = ..., number: _Optional[float] = ..., boolean: _Optional[bool] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("done", "total", "note")
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    done: int
    total: int
    note: str
    def __init__(self, done: _Optional[int] = ..., total: _Optional[int] = ..., note: _Optional[str] = ...) -> None: ...

class Interruption(_message.Message):
    __slots__ = ("request_time", "reason")
    REQUEST_TIME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    request_time: _timestamp_pb2.Timestamp
    reason: str
    def __init__(self, request_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class Diff(_message.Message):
    __slots__ = ("rows", "before", "after")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[DiffRow]
    before: int
    after: int
    def __init__(self, rows: _Optional[_Iterable[_Union[DiffRow, _Mapping]]] = ..., before: _Optional[int] = ..., after: _Optional[int] = ...) -> None: ...

class DiffRow(_message.Message):
    __slots__ = ("journal", "code", "note")
    JOURNAL_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    journal: str
    code: str
    note: str
    def __init__(self, journal: _Optional[str] = ..., code: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class MoveResult(_message.Message):
    __slots__ = ("execution", "from_digest", "error", "diff")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    FROM_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DIFF_FIELD_NUMBER: _ClassVar[int]
    execution: Execution
    from_digest: str
    error: Error
    diff: Diff
    def __init__(self, execution: _Optional[_Union[Execution, _Mapping]] = ..., from_digest: _Optional[str] = ..., error: _Optional[_Union[Error, _Mapping]] = ..., diff: _Optional[_Union[Diff, _Mapping]] = ...) -> None: ...
