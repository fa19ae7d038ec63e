//! Calls of entities.

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;

use cruster::__private::OPERATION_INPUT;
use cruster::wire::EntityMessage;
use cruster::{CallsEntities, StatefulEntity};
use serde::de::DeserializeOwned;

use crate::cluster::{Cluster, decode, request_id};
use crate::error::{Error, Result};
use crate::proto;
use crate::retry::Repeat;

impl CallsEntities for Cluster {
    type Call<T: DeserializeOwned> = EntityCall<T>;

    fn deployment(&self) -> String {
        self.deployment.clone()
    }

    fn prepare<T: DeserializeOwned>(
        &self,
        message: cruster::Result<EntityMessage>,
    ) -> EntityCall<T> {
        let operation = message
            .map(|message| self.operation(message))
            .map_err(|e| Error::of(&OPERATION_INPUT, e.to_string()));
        EntityCall {
            cluster: self.clone(),
            operation,
            result: PhantomData,
        }
    }
}

impl Cluster {
    fn operation(&self, message: EntityMessage) -> proto::Operation {
        // Inside of a module the name of an entity of the same deployment may be short.
        let entity = match message.entity.matches('/').count() {
            1 => format!("{}/{}", self.deployment, message.entity),
            _ => message.entity,
        };
        proto::Operation {
            namespace: self.namespace.clone(),
            entity,
            name: message.operation,
            input: message.input.and_then(proto::packed),
            request_id: request_id(None),
            again: false,
        }
    }

    /// An entity of this deployment, to look at its state.
    pub fn entity<E: StatefulEntity>(&self, id: impl AsRef<str>) -> EntityRef<E> {
        EntityRef {
            cluster: self.clone(),
            name: format!("{}/{}/{}", self.deployment, E::NAME, id.as_ref()),
            entity: PhantomData,
        }
    }
}

/// A call of an entity that yields a `T`: `Cart::client(&cluster, "ada").add(item)` makes one.
/// Await it for the result of the operation, or [send](EntityCall::send) it.
///
/// A call whose answer was lost is repeated, unless it could run twice: a call of an operation of an
/// entity without a state that is not persisted is `CR-6014` then.
#[must_use = "an entity is not called unless its call is awaited or sent"]
pub struct EntityCall<T> {
    cluster: Cluster,
    operation: Result<proto::Operation>,
    result: PhantomData<fn() -> T>,
}

impl<T> EntityCall<T> {
    /// Names the request, so that it is safe to make it again after a lost answer, also from
    /// another process: requests with the same id are performed once, and answered the same.
    /// Without it the client draws an id.
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        if let Ok(operation) = &mut self.operation {
            operation.request_id = id.into();
        }
        self
    }

    /// Has the operation performed without waiting for it. It is done when the message is
    /// durable.
    pub async fn send(self) -> Result<()> {
        let operation = self.operation?;
        let call = self.cluster.call(Repeat::Yes, |attempt| {
            let request = attempt.request(proto::SendToEntityRequest {
                operation: Some(operation.clone()),
            });
            let mut entities = self.cluster.entities();
            async move { entities.send_to_entity(request).await }
        });
        call.await.map(|_| ())
    }
}

impl<T: DeserializeOwned + 'static> IntoFuture for EntityCall<T> {
    type Output = Result<T>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let operation = self.operation?;
            let cluster = self.cluster;
            let call = cluster.call(Repeat::Yes, |attempt| {
                let mut operation = operation.clone();
                operation.again = attempt.again;
                let request = attempt.request(proto::CallEntityRequest {
                    operation: Some(operation),
                    encoding: proto::Encoding::Msgpack.into(),
                });
                let mut entities = cluster.entities();
                async move { entities.call_entity(request).await }
            });
            let response = call.await?;
            match response.error {
                Some(error) => Err(Error::from_wire(error)),
                None => decode(
                    format_args!("the result of {}", operation.name),
                    response.result,
                ),
            }
        })
    }
}

/// One entity that has a state; [`Cluster::entity`] makes it.
pub struct EntityRef<E> {
    cluster: Cluster,
    name: String,
    entity: PhantomData<fn() -> E>,
}

impl<E: StatefulEntity> EntityRef<E> {
    /// Its name: `deployment/Type/id`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its state, with the effects of all operations that were answered before.
    pub async fn state(&self) -> Result<E> {
        let request = proto::GetEntityRequest {
            namespace: self.cluster.namespace.clone(),
            entity: self.name.clone(),
            encoding: proto::Encoding::Msgpack.into(),
        };
        let call = self.cluster.call(Repeat::Yes, |attempt| {
            let request = attempt.request(request.clone());
            let mut entities = self.cluster.entities();
            async move { entities.get_entity(request).await }
        });
        decode(
            format_args!("the state of {}", self.name),
            call.await?.state,
        )
    }

    /// Deletes its state, behind the calls that came before.
    pub async fn destroy(&self) -> Result<()> {
        let request = proto::DestroyEntityRequest {
            namespace: self.cluster.namespace.clone(),
            entity: self.name.clone(),
            request_id: request_id(None),
        };
        let call = self.cluster.call(Repeat::Yes, |attempt| {
            let request = attempt.request(request.clone());
            let mut entities = self.cluster.entities();
            async move { entities.destroy_entity(request).await }
        });
        call.await.map(|_| ())
    }
}
