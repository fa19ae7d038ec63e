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

class Operation(_message.Message):
    __slots__ = ("namespace", "entity", "name", "input", "request_id", "again")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    AGAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    entity: str
    name: str
    input: _common_pb2.Payload
    request_id: str
    again: bool
    def __init__(self, namespace: _Optional[str] = ..., entity: _Optional[str] = ..., name: _Optional[str] = ..., input: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., request_id: _Optional[str] = ..., again: _Optional[bool] = ...) -> None: ...

class CallEntityRequest(_message.Message):
    __slots__ = ("operation", "encoding")
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    operation: Operation
    encoding: _common_pb2.Encoding
    def __init__(self, operation: _Optional[_Union[Operation, _Mapping]] = ..., encoding: _Optional[_Union[_common_pb2.Encoding, str]] = ...) -> None: ...

class CallEntityResponse(_message.Message):
    __slots__ = ("result", "error")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    result: _common_pb2.Payload
    error: _common_pb2.Error
    def __init__(self, result: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...

class StreamCallsRequest(_message.Message):
    __slots__ = ("calls", "given_up")
    CALLS_FIELD_NUMBER: _ClassVar[int]
    GIVEN_UP_FIELD_NUMBER: _ClassVar[int]
    calls: _containers.RepeatedCompositeFieldContainer[StreamedCall]
    given_up: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, calls: _Optional[_Iterable[_Union[StreamedCall, _Mapping]]] = ..., given_up: _Optional[_Iterable[int]] = ...) -> None: ...

class StreamedCall(_message.Message):
    __slots__ = ("id", "request", "timeout")
    ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    id: int
    request: CallEntityRequest
    timeout: _duration_pb2.Duration
    def __init__(self, id: _Optional[int] = ..., request: _Optional[_Union[CallEntityRequest, _Mapping]] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class StreamCallsResponse(_message.Message):
    __slots__ = ("answers", "last_taken")
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    LAST_TAKEN_FIELD_NUMBER: _ClassVar[int]
    answers: _containers.RepeatedCompositeFieldContainer[StreamedAnswer]
    last_taken: int
    def __init__(self, answers: _Optional[_Iterable[_Union[StreamedAnswer, _Mapping]]] = ..., last_taken: _Optional[int] = ...) -> None: ...

class StreamedAnswer(_message.Message):
    __slots__ = ("id", "response", "status")
    ID_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    id: int
    response: CallEntityResponse
    status: bytes
    def __init__(self, id: _Optional[int] = ..., response: _Optional[_Union[CallEntityResponse, _Mapping]] = ..., status: _Optional[bytes] = ...) -> None: ...

class SendToEntityRequest(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: Operation
    def __init__(self, operation: _Optional[_Union[Operation, _Mapping]] = ...) -> None: ...

class SendToEntityResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetEntityRequest(_message.Message):
    __slots__ = ("namespace", "entity", "encoding")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    entity: str
    encoding: _common_pb2.Encoding
    def __init__(self, namespace: _Optional[str] = ..., entity: _Optional[str] = ..., encoding: _Optional[_Union[_common_pb2.Encoding, str]] = ...) -> None: ...

class GetEntityResponse(_message.Message):
    __slots__ = ("entity", "state", "parked")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PARKED_FIELD_NUMBER: _ClassVar[int]
    entity: Entity
    state: _common_pb2.Payload
    parked: int
    def __init__(self, entity: _Optional[_Union[Entity, _Mapping]] = ..., state: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., parked: _Optional[int] = ...) -> None: ...

class Entity(_message.Message):
    __slots__ = ("name", "namespace", "type", "id", "state_version", "create_time", "update_time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    namespace: str
    type: str
    id: str
    state_version: int
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., namespace: _Optional[str] = ..., type: _Optional[str] = ..., id: _Optional[str] = ..., state_version: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListEntitiesRequest(_message.Message):
    __slots__ = ("namespace", "type", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    type: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., type: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListEntitiesResponse(_message.Message):
    __slots__ = ("entities", "next_page_token")
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    entities: _containers.RepeatedCompositeFieldContainer[Entity]
    next_page_token: str
    def __init__(self, entities: _Optional[_Iterable[_Union[Entity, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DestroyEntityRequest(_message.Message):
    __slots__ = ("namespace", "entity", "request_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    entity: str
    request_id: str
    def __init__(self, namespace: _Optional[str] = ..., entity: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class DestroyEntityResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListEntityLocksRequest(_message.Message):
    __slots__ = ("namespace", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListEntityLocksResponse(_message.Message):
    __slots__ = ("locks", "next_page_token")
    LOCKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    locks: _containers.RepeatedCompositeFieldContainer[EntityLock]
    next_page_token: str
    def __init__(self, locks: _Optional[_Iterable[_Union[EntityLock, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class EntityLock(_message.Message):
    __slots__ = ("entity", "namespace", "holder", "lock_time", "waiters", "waiting")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    LOCK_TIME_FIELD_NUMBER: _ClassVar[int]
    WAITERS_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    entity: str
    namespace: str
    holder: str
    lock_time: _timestamp_pb2.Timestamp
    waiters: _containers.RepeatedCompositeFieldContainer[LockWaiter]
    waiting: int
    def __init__(self, entity: _Optional[str] = ..., namespace: _Optional[str] = ..., holder: _Optional[str] = ..., lock_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., waiters: _Optional[_Iterable[_Union[LockWaiter, _Mapping]]] = ..., waiting: _Optional[int] = ...) -> None: ...

class LockWaiter(_message.Message):
    __slots__ = ("execution", "operation", "queue_time")
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_TIME_FIELD_NUMBER: _ClassVar[int]
    execution: str
    operation: str
    queue_time: _timestamp_pb2.Timestamp
    def __init__(self, execution: _Optional[str] = ..., operation: _Optional[str] = ..., queue_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class UnlockEntityRequest(_message.Message):
    __slots__ = ("namespace", "entity")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    entity: str
    def __init__(self, namespace: _Optional[str] = ..., entity: _Optional[str] = ...) -> None: ...

class UnlockEntityResponse(_message.Message):
    __slots__ = ("holder",)
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    holder: str
    def __init__(self, holder: _Optional[str] = ...) -> None: ...

class ListParkedMessagesRequest(_message.Message):
    __slots__ = ("namespace", "type", "entity", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    type: str
    entity: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., type: _Optional[str] = ..., entity: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListParkedMessagesResponse(_message.Message):
    __slots__ = ("messages", "next_page_token")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[ParkedMessage]
    next_page_token: str
    def __init__(self, messages: _Optional[_Iterable[_Union[ParkedMessage, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ParkedMessage(_message.Message):
    __slots__ = ("entity", "namespace", "position", "kind", "name", "send_time", "park_time", "attempts", "reason", "sender", "bytes")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SEND_TIME_FIELD_NUMBER: _ClassVar[int]
    PARK_TIME_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    entity: str
    namespace: str
    position: int
    kind: str
    name: str
    send_time: _timestamp_pb2.Timestamp
    park_time: _timestamp_pb2.Timestamp
    attempts: int
    reason: _common_pb2.Error
    sender: str
    bytes: int
    def __init__(self, entity: _Optional[str] = ..., namespace: _Optional[str] = ..., position: _Optional[int] = ..., kind: _Optional[str] = ..., name: _Optional[str] = ..., send_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., park_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., attempts: _Optional[int] = ..., reason: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., sender: _Optional[str] = ..., bytes: _Optional[int] = ...) -> None: ...

class RetryParkedMessagesRequest(_message.Message):
    __slots__ = ("namespace", "entity", "positions", "all")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    entity: str
    positions: _containers.RepeatedScalarFieldContainer[int]
    all: bool
    def __init__(self, namespace: _Optional[str] = ..., entity: _Optional[str] = ..., positions: _Optional[_Iterable[int]] = ..., all: _Optional[bool] = ...) -> None: ...

class RetryParkedMessagesResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: int
    def __init__(self, messages: _Optional[int] = ...) -> None: ...

class DropParkedMessagesRequest(_message.Message):
    __slots__ = ("namespace", "entity", "positions", "all")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    entity: str
    positions: _containers.RepeatedScalarFieldContainer[int]
    all: bool
    def __init__(self, namespace: _Optional[str] = ..., entity: _Optional[str] = ..., positions: _Optional[_Iterable[int]] = ..., all: _Optional[bool] = ...) -> None: ...

class DropParkedMessagesResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: int
    def __init__(self, messages: _Optional[int] = ...) -> None: ...
