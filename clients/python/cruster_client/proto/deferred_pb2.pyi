from cruster_client.proto import common_pb2 as _common_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ResolveDeferredRequest(_message.Message):
    __slots__ = ("namespace", "execution", "name", "value")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    name: str
    value: _common_pb2.Payload
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., name: _Optional[str] = ..., value: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ...) -> None: ...

class ResolveDeferredResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RejectDeferredRequest(_message.Message):
    __slots__ = ("namespace", "execution", "name", "message", "type")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    execution: str
    name: str
    message: str
    type: str
    def __init__(self, namespace: _Optional[str] = ..., execution: _Optional[str] = ..., name: _Optional[str] = ..., message: _Optional[str] = ..., type: _Optional[str] = ...) -> None: ...

class RejectDeferredResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
