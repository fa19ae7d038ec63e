import datetime

from cruster_client.proto import common_pb2 as _common_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class IfFinished(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IF_FINISHED_UNSPECIFIED: _ClassVar[IfFinished]
    IF_FINISHED_RETURN: _ClassVar[IfFinished]
    IF_FINISHED_RESTART: _ClassVar[IfFinished]
    IF_FINISHED_RESTART_FAILED: _ClassVar[IfFinished]
    IF_FINISHED_REFUSE: _ClassVar[IfFinished]

class ExecutionView(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXECUTION_VIEW_UNSPECIFIED: _ClassVar[ExecutionView]
    EXECUTION_VIEW_BASIC: _ClassVar[ExecutionView]
    EXECUTION_VIEW_FULL: _ClassVar[ExecutionView]
IF_FINISHED_UNSPECIFIED: IfFinished
IF_FINISHED_RETURN: IfFinished
IF_FINISHED_RESTART: IfFinished
IF_FINISHED_RESTART_FAILED: IfFinished
IF_FINISHED_REFUSE: IfFinished
EXECUTION_VIEW_UNSPECIFIED: ExecutionView
EXECUTION_VIEW_BASIC: ExecutionView
EXECUTION_VIEW_FULL: ExecutionView

class StartOptions(_message.Message):
    __slots__ = ("namespace", "workflow", "input", "key", "raw_key", "if_finished", "request_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    RAW_KEY_FIELD_NUMBER: _ClassVar[int]
    IF_FINISHED_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    workflow: str
    input: _common_pb2.Payload
    key: str
    raw_key: str
    if_finished: IfFinished
    request_id: str
    def __init__(self, namespace: _Optional[str] = ..., workflow: _Optional[str] = ..., input: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., key: _Optional[str] = ..., raw_key: _Optional[str] = ..., if_finished: _Optional[_Union[IfFinished, str]] = ..., request_id: _Optional[str] = ...) -> None: ...

class StartExecutionRequest(_message.Message):
    __slots__ = ("start", "encoding", "wait")
    START_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    start: StartOptions
    encoding: _common_pb2.Encoding
    wait: _duration_pb2.Duration
    def __init__(self, start: _Optional[_Union[StartOptions, _Mapping]] = ..., encoding: _Optional[_Union[_common_pb2.Encoding, str]] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class StartExecutionResponse(_message.Message):
    __slots__ = ("execution", "existed")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    EXISTED_FIELD_NUMBER: _ClassVar[int]
    execution: _common_pb2.Execution
    existed: bool
    def __init__(self, execution: _Optional[_Union[_common_pb2.Execution, _Mapping]] = ..., existed: _Optional[bool] = ...) -> None: ...

class GetExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "encoding", "run_id", "view")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    encoding: _common_pb2.Encoding
    run_id: str
    view: ExecutionView
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., encoding: _Optional[_Union[_common_pb2.Encoding, str]] = ..., run_id: _Optional[str] = ..., view: _Optional[_Union[ExecutionView, str]] = ...) -> None: ...

class GetExecutionResponse(_message.Message):
    __slots__ = ("execution", "details")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    execution: _common_pb2.Execution
    details: ExecutionDetails
    def __init__(self, execution: _Optional[_Union[_common_pb2.Execution, _Mapping]] = ..., details: _Optional[_Union[ExecutionDetails, _Mapping]] = ...) -> None: ...

class WaitExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "encoding", "run_id", "wait")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    encoding: _common_pb2.Encoding
    run_id: str
    wait: _duration_pb2.Duration
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., encoding: _Optional[_Union[_common_pb2.Encoding, str]] = ..., run_id: _Optional[str] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class WaitExecutionResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: _common_pb2.Execution
    def __init__(self, execution: _Optional[_Union[_common_pb2.Execution, _Mapping]] = ...) -> None: ...

class ExecutionDetails(_message.Message):
    __slots__ = ("input", "entries", "resident", "pending", "deferreds", "patches", "pending_omitted", "deferreds_omitted", "fuel", "unread", "unanswered", "published", "earlier", "earlier_more", "entry_limit", "circle")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    DEFERREDS_FIELD_NUMBER: _ClassVar[int]
    PATCHES_FIELD_NUMBER: _ClassVar[int]
    PENDING_OMITTED_FIELD_NUMBER: _ClassVar[int]
    DEFERREDS_OMITTED_FIELD_NUMBER: _ClassVar[int]
    FUEL_FIELD_NUMBER: _ClassVar[int]
    UNREAD_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    EARLIER_FIELD_NUMBER: _ClassVar[int]
    EARLIER_MORE_FIELD_NUMBER: _ClassVar[int]
    ENTRY_LIMIT_FIELD_NUMBER: _ClassVar[int]
    CIRCLE_FIELD_NUMBER: _ClassVar[int]
    input: _common_pb2.Payload
    entries: int
    resident: bool
    pending: _containers.RepeatedCompositeFieldContainer[PendingOp]
    deferreds: _containers.RepeatedCompositeFieldContainer[SettledDeferred]
    patches: _containers.RepeatedCompositeFieldContainer[Patch]
    pending_omitted: int
    deferreds_omitted: int
    fuel: int
    unread: _containers.RepeatedCompositeFieldContainer[UnreadSignals]
    unanswered: _containers.RepeatedCompositeFieldContainer[UnansweredUpdates]
    published: _containers.RepeatedCompositeFieldContainer[PublishedState]
    earlier: _containers.RepeatedCompositeFieldContainer[_common_pb2.Execution]
    earlier_more: bool
    entry_limit: int
    circle: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, input: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., entries: _Optional[int] = ..., resident: _Optional[bool] = ..., pending: _Optional[_Iterable[_Union[PendingOp, _Mapping]]] = ..., deferreds: _Optional[_Iterable[_Union[SettledDeferred, _Mapping]]] = ..., patches: _Optional[_Iterable[_Union[Patch, _Mapping]]] = ..., pending_omitted: _Optional[int] = ..., deferreds_omitted: _Optional[int] = ..., fuel: _Optional[int] = ..., unread: _Optional[_Iterable[_Union[UnreadSignals, _Mapping]]] = ..., unanswered: _Optional[_Iterable[_Union[UnansweredUpdates, _Mapping]]] = ..., published: _Optional[_Iterable[_Union[PublishedState, _Mapping]]] = ..., earlier: _Optional[_Iterable[_Union[_common_pb2.Execution, _Mapping]]] = ..., earlier_more: _Optional[bool] = ..., entry_limit: _Optional[int] = ..., circle: _Optional[_Iterable[str]] = ...) -> None: ...

class UnansweredUpdates(_message.Message):
    __slots__ = ("name", "count")
    NAME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    name: str
    count: int
    def __init__(self, name: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class PublishedState(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: _common_pb2.Payload
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ...) -> None: ...

class UnreadSignals(_message.Message):
    __slots__ = ("name", "count")
    NAME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    name: str
    count: int
    def __init__(self, name: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class Patch(_message.Message):
    __slots__ = ("id", "taken", "seq")
    ID_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    id: str
    taken: bool
    seq: int
    def __init__(self, id: _Optional[str] = ..., taken: _Optional[bool] = ..., seq: _Optional[int] = ...) -> None: ...

class PendingOp(_message.Message):
    __slots__ = ("number", "kind", "name", "key", "issue_time", "due_time", "attempt", "last_error", "callee", "callee_state")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ISSUE_TIME_FIELD_NUMBER: _ClassVar[int]
    DUE_TIME_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    CALLEE_FIELD_NUMBER: _ClassVar[int]
    CALLEE_STATE_FIELD_NUMBER: _ClassVar[int]
    number: int
    kind: str
    name: str
    key: str
    issue_time: _timestamp_pb2.Timestamp
    due_time: _timestamp_pb2.Timestamp
    attempt: int
    last_error: _common_pb2.Error
    callee: str
    callee_state: _common_pb2.State
    def __init__(self, number: _Optional[int] = ..., kind: _Optional[str] = ..., name: _Optional[str] = ..., key: _Optional[str] = ..., issue_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., due_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., attempt: _Optional[int] = ..., last_error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., callee: _Optional[str] = ..., callee_state: _Optional[_Union[_common_pb2.State, str]] = ...) -> None: ...

class SettledDeferred(_message.Message):
    __slots__ = ("name", "settle_time", "value", "error", "omitted_bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SETTLE_TIME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    OMITTED_BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    settle_time: _timestamp_pb2.Timestamp
    value: _common_pb2.Payload
    error: _common_pb2.Error
    omitted_bytes: int
    def __init__(self, name: _Optional[str] = ..., settle_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., value: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., omitted_bytes: _Optional[int] = ...) -> None: ...

class ListHistoryRequest(_message.Message):
    __slots__ = ("namespace", "execution", "after", "page_size", "encoding", "run_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    after: int
    page_size: int
    encoding: _common_pb2.Encoding
    run_id: str
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., after: _Optional[int] = ..., page_size: _Optional[int] = ..., encoding: _Optional[_Union[_common_pb2.Encoding, str]] = ..., run_id: _Optional[str] = ...) -> None: ...

class ListHistoryResponse(_message.Message):
    __slots__ = ("entries", "next")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[HistoryEntry]
    next: int
    def __init__(self, entries: _Optional[_Iterable[_Union[HistoryEntry, _Mapping]]] = ..., next: _Optional[int] = ...) -> None: ...

class HistoryEntry(_message.Message):
    __slots__ = ("seq", "turn", "kind", "journal_time", "op", "op_kind", "name", "key", "attempts", "next_time", "value", "error", "omitted_bytes")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    JOURNAL_TIME_FIELD_NUMBER: _ClassVar[int]
    OP_FIELD_NUMBER: _ClassVar[int]
    OP_KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_TIME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    OMITTED_BYTES_FIELD_NUMBER: _ClassVar[int]
    seq: int
    turn: int
    kind: str
    journal_time: _timestamp_pb2.Timestamp
    op: int
    op_kind: str
    name: str
    key: str
    attempts: int
    next_time: _timestamp_pb2.Timestamp
    value: _common_pb2.Payload
    error: _common_pb2.Error
    omitted_bytes: int
    def __init__(self, seq: _Optional[int] = ..., turn: _Optional[int] = ..., kind: _Optional[str] = ..., journal_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., op: _Optional[int] = ..., op_kind: _Optional[str] = ..., name: _Optional[str] = ..., key: _Optional[str] = ..., attempts: _Optional[int] = ..., next_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., value: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., omitted_bytes: _Optional[int] = ...) -> None: ...

class FollowExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "after", "run_id", "encoding", "chain_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    after: int
    run_id: str
    encoding: _common_pb2.Encoding
    chain_id: str
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., after: _Optional[int] = ..., run_id: _Optional[str] = ..., encoding: _Optional[_Union[_common_pb2.Encoding, str]] = ..., chain_id: _Optional[str] = ...) -> None: ...

class FollowExecutionResponse(_message.Message):
    __slots__ = ("entry", "line", "execution")
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    entry: HistoryEntry
    line: LogLine
    execution: _common_pb2.Execution
    def __init__(self, entry: _Optional[_Union[HistoryEntry, _Mapping]] = ..., line: _Optional[_Union[LogLine, _Mapping]] = ..., execution: _Optional[_Union[_common_pb2.Execution, _Mapping]] = ...) -> None: ...

class LogLine(_message.Message):
    __slots__ = ("log_time", "level", "message", "activity", "attempt", "dropped", "crashed")
    LOG_TIME_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    CRASHED_FIELD_NUMBER: _ClassVar[int]
    log_time: _timestamp_pb2.Timestamp
    level: int
    message: str
    activity: str
    attempt: int
    dropped: int
    crashed: bool
    def __init__(self, log_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., level: _Optional[int] = ..., message: _Optional[str] = ..., activity: _Optional[str] = ..., attempt: _Optional[int] = ..., dropped: _Optional[int] = ..., crashed: _Optional[bool] = ...) -> None: ...

class ListExecutionsRequest(_message.Message):
    __slots__ = ("namespace", "workflow", "state", "page_size", "page_token", "where")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    workflow: str
    state: _common_pb2.State
    page_size: int
    page_token: str
    where: _containers.RepeatedCompositeFieldContainer[Condition]
    def __init__(self, namespace: _Optional[str] = ..., workflow: _Optional[str] = ..., state: _Optional[_Union[_common_pb2.State, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., where: _Optional[_Iterable[_Union[Condition, _Mapping]]] = ...) -> None: ...

class Condition(_message.Message):
    __slots__ = ("name", "operator", "text", "number", "boolean", "time", "literal")
    NAME_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    LITERAL_FIELD_NUMBER: _ClassVar[int]
    name: str
    operator: str
    text: str
    number: float
    boolean: bool
    time: _timestamp_pb2.Timestamp
    literal: str
    def __init__(self, name: _Optional[str] = ..., operator: _Optional[str] = ..., text: _Optional[str] = ..., number: _Optional[float] = ..., boolean: _Optional[bool] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., literal: _Optional[str] = ...) -> None: ...

class ListExecutionsResponse(_message.Message):
    __slots__ = ("executions", "next_page_token")
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    executions: _containers.RepeatedCompositeFieldContainer[_common_pb2.Execution]
    next_page_token: str
    def __init__(self, executions: _Optional[_Iterable[_Union[_common_pb2.Execution, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SignalOptions(_message.Message):
    __slots__ = ("name", "value", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: _common_pb2.Payload
    request_id: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class SignalExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "signal")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    signal: SignalOptions
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., signal: _Optional[_Union[SignalOptions, _Mapping]] = ...) -> None: ...

class SignalExecutionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SignalWithStartRequest(_message.Message):
    __slots__ = ("start", "signal", "encoding")
    START_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    start: StartOptions
    signal: SignalOptions
    encoding: _common_pb2.Encoding
    def __init__(self, start: _Optional[_Union[StartOptions, _Mapping]] = ..., signal: _Optional[_Union[SignalOptions, _Mapping]] = ..., encoding: _Optional[_Union[_common_pb2.Encoding, str]] = ...) -> None: ...

class SignalWithStartResponse(_message.Message):
    __slots__ = ("execution", "existed")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    EXISTED_FIELD_NUMBER: _ClassVar[int]
    execution: _common_pb2.Execution
    existed: bool
    def __init__(self, execution: _Optional[_Union[_common_pb2.Execution, _Mapping]] = ..., existed: _Optional[bool] = ...) -> None: ...

class QueryExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "name", "input", "encoding")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    name: str
    input: _common_pb2.Payload
    encoding: _common_pb2.Encoding
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., name: _Optional[str] = ..., input: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., encoding: _Optional[_Union[_common_pb2.Encoding, str]] = ...) -> None: ...

class QueryExecutionResponse(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: _common_pb2.Payload
    def __init__(self, value: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ...) -> None: ...

class UpdateExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "name", "input", "request_id", "encoding")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    name: str
    input: _common_pb2.Payload
    request_id: str
    encoding: _common_pb2.Encoding
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., name: _Optional[str] = ..., input: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., request_id: _Optional[str] = ..., encoding: _Optional[_Union[_common_pb2.Encoding, str]] = ...) -> None: ...

class UpdateExecutionResponse(_message.Message):
    __slots__ = ("value", "error")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    value: _common_pb2.Payload
    error: _common_pb2.Error
    def __init__(self, value: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...

class GetExecutionStateRequest(_message.Message):
    __slots__ = ("namespace", "execution", "name", "encoding")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    name: str
    encoding: _common_pb2.Encoding
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., name: _Optional[str] = ..., encoding: _Optional[_Union[_common_pb2.Encoding, str]] = ...) -> None: ...

class GetExecutionStateResponse(_message.Message):
    __slots__ = ("state", "attributes", "progress", "update_time")
    STATE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    state: _containers.RepeatedCompositeFieldContainer[PublishedState]
    attributes: _containers.RepeatedCompositeFieldContainer[_common_pb2.Attribute]
    progress: _common_pb2.Progress
    update_time: _timestamp_pb2.Timestamp
    def __init__(self, state: _Optional[_Iterable[_Union[PublishedState, _Mapping]]] = ..., attributes: _Optional[_Iterable[_Union[_common_pb2.Attribute, _Mapping]]] = ..., progress: _Optional[_Union[_common_pb2.Progress, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class InterruptExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class InterruptExecutionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TerminateExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class TerminateExecutionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResumeExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "interrupt", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    INTERRUPT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    interrupt: bool
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., interrupt: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...

class ResumeExecutionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FailExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class FailExecutionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class MoveExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "to")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    to: str
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., to: _Optional[str] = ...) -> None: ...

class MoveExecutionResponse(_message.Message):
    __slots__ = ("execution", "from_digest")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    FROM_DIGEST_FIELD_NUMBER: _ClassVar[int]
    execution: _common_pb2.Execution
    from_digest: str
    def __init__(self, execution: _Optional[_Union[_common_pb2.Execution, _Mapping]] = ..., from_digest: _Optional[str] = ...) -> None: ...

class MoveExecutionsRequest(_message.Message):
    __slots__ = ("namespace", "workflow", "state", "to")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    workflow: str
    state: _common_pb2.State
    to: str
    def __init__(self, namespace: _Optional[str] = ..., workflow: _Optional[str] = ..., state: _Optional[_Union[_common_pb2.State, str]] = ..., to: _Optional[str] = ...) -> None: ...

class MoveExecutionsResponse(_message.Message):
    __slots__ = ("done", "result")
    DONE_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    done: int
    result: _common_pb2.MoveResult
    def __init__(self, done: _Optional[int] = ..., result: _Optional[_Union[_common_pb2.MoveResult, _Mapping]] = ...) -> None: ...

class ForkExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "at", "to", "key")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    at: int
    to: str
    key: str
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., at: _Optional[int] = ..., to: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class ForkExecutionResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: _common_pb2.Execution
    def __init__(self, execution: _Optional[_Union[_common_pb2.Execution, _Mapping]] = ...) -> None: ...

class RestartExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "input", "to", "request_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    input: _common_pb2.Payload
    to: str
    request_id: str
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., input: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., to: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RestartExecutionResponse(_message.Message):
    __slots__ = ("execution", "existed")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    EXISTED_FIELD_NUMBER: _ClassVar[int]
    execution: _common_pb2.Execution
    existed: bool
    def __init__(self, execution: _Optional[_Union[_common_pb2.Execution, _Mapping]] = ..., existed: _Optional[bool] = ...) -> None: ...

class DeleteExecutionRequest(_message.Message):
    __slots__ = ("namespace", "execution", "run_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    run_id: str
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., run_id: _Optional[str] = ...) -> None: ...

class DeleteExecutionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
