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

class Overlap(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OVERLAP_UNSPECIFIED: _ClassVar[Overlap]
    OVERLAP_SKIP: _ClassVar[Overlap]
    OVERLAP_QUEUE: _ClassVar[Overlap]
    OVERLAP_CANCEL: _ClassVar[Overlap]
    OVERLAP_ALLOW: _ClassVar[Overlap]

class StartCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    START_CAUSE_UNSPECIFIED: _ClassVar[StartCause]
    START_CAUSE_TICK: _ClassVar[StartCause]
    START_CAUSE_TRIGGER: _ClassVar[StartCause]
    START_CAUSE_BACKFILL: _ClassVar[StartCause]

class ScheduleOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCHEDULE_OUTCOME_UNSPECIFIED: _ClassVar[ScheduleOutcome]
    SCHEDULE_OUTCOME_STARTED: _ClassVar[ScheduleOutcome]
    SCHEDULE_OUTCOME_SKIPPED: _ClassVar[ScheduleOutcome]
    SCHEDULE_OUTCOME_MISSED: _ClassVar[ScheduleOutcome]
    SCHEDULE_OUTCOME_REFUSED: _ClassVar[ScheduleOutcome]
OVERLAP_UNSPECIFIED: Overlap
OVERLAP_SKIP: Overlap
OVERLAP_QUEUE: Overlap
OVERLAP_CANCEL: Overlap
OVERLAP_ALLOW: Overlap
START_CAUSE_UNSPECIFIED: StartCause
START_CAUSE_TICK: StartCause
START_CAUSE_TRIGGER: StartCause
START_CAUSE_BACKFILL: StartCause
SCHEDULE_OUTCOME_UNSPECIFIED: ScheduleOutcome
SCHEDULE_OUTCOME_STARTED: ScheduleOutcome
SCHEDULE_OUTCOME_SKIPPED: ScheduleOutcome
SCHEDULE_OUTCOME_MISSED: ScheduleOutcome
SCHEDULE_OUTCOME_REFUSED: ScheduleOutcome

class ScheduleSpec(_message.Message):
    __slots__ = ("workflow", "input", "cron", "interval", "always", "time_zone", "jitter", "overlap", "max_queued", "catch_up", "start_time", "end_time", "max_runs")
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    CRON_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    ALWAYS_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    JITTER_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    MAX_QUEUED_FIELD_NUMBER: _ClassVar[int]
    CATCH_UP_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNS_FIELD_NUMBER: _ClassVar[int]
    workflow: str
    input: _common_pb2.Payload
    cron: str
    interval: Interval
    always: Always
    time_zone: str
    jitter: _duration_pb2.Duration
    overlap: Overlap
    max_queued: int
    catch_up: _duration_pb2.Duration
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    max_runs: int
    def __init__(self, workflow: _Optional[str] = ..., input: _Optional[_Union[_common_pb2.Payload, _Mapping]] = ..., cron: _Optional[str] = ..., interval: _Optional[_Union[Interval, _Mapping]] = ..., always: _Optional[_Union[Always, _Mapping]] = ..., time_zone: _Optional[str] = ..., jitter: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., overlap: _Optional[_Union[Overlap, str]] = ..., max_queued: _Optional[int] = ..., catch_up: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., max_runs: _Optional[int] = ...) -> None: ...

class Interval(_message.Message):
    __slots__ = ("every", "offset")
    EVERY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    every: _duration_pb2.Duration
    offset: _duration_pb2.Duration
    def __init__(self, every: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., offset: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Always(_message.Message):
    __slots__ = ("min_pause", "max_pause")
    MIN_PAUSE_FIELD_NUMBER: _ClassVar[int]
    MAX_PAUSE_FIELD_NUMBER: _ClassVar[int]
    min_pause: _duration_pb2.Duration
    max_pause: _duration_pb2.Duration
    def __init__(self, min_pause: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_pause: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Schedule(_message.Message):
    __slots__ = ("namespace", "name", "spec", "paused", "note", "create_time", "update_time", "upcoming_times", "recent", "open", "waiting", "backfills", "started", "skipped", "missed", "refused")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPCOMING_TIMES_FIELD_NUMBER: _ClassVar[int]
    RECENT_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    BACKFILLS_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    spec: ScheduleSpec
    paused: bool
    note: str
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    upcoming_times: _containers.RepeatedCompositeFieldContainer[_timestamp_pb2.Timestamp]
    recent: _containers.RepeatedCompositeFieldContainer[ScheduleRun]
    open: _containers.RepeatedScalarFieldContainer[str]
    waiting: _containers.RepeatedCompositeFieldContainer[WaitingStart]
    backfills: int
    started: int
    skipped: int
    missed: int
    refused: int
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., spec: _Optional[_Union[ScheduleSpec, _Mapping]] = ..., paused: _Optional[bool] = ..., note: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., upcoming_times: _Optional[_Iterable[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]]] = ..., recent: _Optional[_Iterable[_Union[ScheduleRun, _Mapping]]] = ..., open: _Optional[_Iterable[str]] = ..., waiting: _Optional[_Iterable[_Union[WaitingStart, _Mapping]]] = ..., backfills: _Optional[int] = ..., started: _Optional[int] = ..., skipped: _Optional[int] = ..., missed: _Optional[int] = ..., refused: _Optional[int] = ...) -> None: ...

class ScheduleRun(_message.Message):
    __slots__ = ("tick_time", "cause", "outcome", "execution", "state", "error", "decision_time", "count")
    TICK_TIME_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DECISION_TIME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    tick_time: _timestamp_pb2.Timestamp
    cause: StartCause
    outcome: ScheduleOutcome
    execution: str
    state: _common_pb2.State
    error: _common_pb2.Error
    decision_time: _timestamp_pb2.Timestamp
    count: int
    def __init__(self, tick_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cause: _Optional[_Union[StartCause, str]] = ..., outcome: _Optional[_Union[ScheduleOutcome, str]] = ..., execution: _Optional[str] = ..., state: _Optional[_Union[_common_pb2.State, str]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., decision_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., count: _Optional[int] = ...) -> None: ...

class WaitingStart(_message.Message):
    __slots__ = ("tick_time", "cause")
    TICK_TIME_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    tick_time: _timestamp_pb2.Timestamp
    cause: StartCause
    def __init__(self, tick_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cause: _Optional[_Union[StartCause, str]] = ...) -> None: ...

class CreateScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "spec", "paused", "note")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    spec: ScheduleSpec
    paused: bool
    note: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., spec: _Optional[_Union[ScheduleSpec, _Mapping]] = ..., paused: _Optional[bool] = ..., note: _Optional[str] = ...) -> None: ...

class CreateScheduleResponse(_message.Message):
    __slots__ = ("schedule",)
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class UpdateScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "spec")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    spec: ScheduleSpec
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., spec: _Optional[_Union[ScheduleSpec, _Mapping]] = ...) -> None: ...

class UpdateScheduleResponse(_message.Message):
    __slots__ = ("schedule",)
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class GetScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "upcoming", "encoding")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    UPCOMING_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    upcoming: int
    encoding: _common_pb2.Encoding
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., upcoming: _Optional[int] = ..., encoding: _Optional[_Union[_common_pb2.Encoding, str]] = ...) -> None: ...

class GetScheduleResponse(_message.Message):
    __slots__ = ("schedule",)
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    schedule: Schedule
    def __init__(self, schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

class ListSchedulesRequest(_message.Message):
    __slots__ = ("namespace", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSchedulesResponse(_message.Message):
    __slots__ = ("schedules", "next_page_token")
    SCHEDULES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    schedules: _containers.RepeatedCompositeFieldContainer[Schedule]
    next_page_token: str
    def __init__(self, schedules: _Optional[_Iterable[_Union[Schedule, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class PauseScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "note")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    note: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class PauseScheduleResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResumeScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "note")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    note: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class ResumeScheduleResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TriggerScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "request_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    request_id: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class TriggerScheduleResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: ScheduleRun
    def __init__(self, run: _Optional[_Union[ScheduleRun, _Mapping]] = ...) -> None: ...

class BackfillScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name", "start_time", "end_time", "overlap")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    overlap: Overlap
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., overlap: _Optional[_Union[Overlap, str]] = ...) -> None: ...

class BackfillScheduleResponse(_message.Message):
    __slots__ = ("ticks",)
    TICKS_FIELD_NUMBER: _ClassVar[int]
    ticks: int
    def __init__(self, ticks: _Optional[int] = ...) -> None: ...

class DeleteScheduleRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class DeleteScheduleResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
