//! Checks of a module while it is compiled.

use crate::definition::{ActivityDefinition, WorkflowDefinition};
use crate::entity::EntityDefinition;
use crate::migration::Migration;
use crate::names::{self, fail, same};
use crate::schedule::Schedule;

/// The lists of activities of a workflow, one after the other.
const fn activity_list(
    workflow: &WorkflowDefinition,
    n: usize,
) -> Option<&'static [ActivityDefinition]> {
    match n {
        0 => Some(workflow.activities),
        n if n <= workflow.groups.len() => Some(workflow.groups[n - 1]),
        _ => None,
    }
}

pub(super) const fn check_activities(workflows: &[&'static WorkflowDefinition]) {
    let mut w = 0;
    while w < workflows.len() {
        let mut l = 0;
        while let Some(list) = activity_list(workflows[w], l) {
            let mut a = 0;
            while a < list.len() {
                names::check("the activity name", list[a].name);
                check_activity(workflows, &list[a]);
                a += 1;
            }
            l += 1;
        }
        w += 1;
    }
}

/// Checks that no other activity has the name of this one.
const fn check_activity(workflows: &[&'static WorkflowDefinition], activity: &ActivityDefinition) {
    let mut w = 0;
    while w < workflows.len() {
        let mut l = 0;
        while let Some(list) = activity_list(workflows[w], l) {
            let mut a = 0;
            while a < list.len() {
                check_apart(activity, &list[a]);
                a += 1;
            }
            l += 1;
        }
        w += 1;
    }
}

/// Checks that two activities do not share a name, unless they are one.
const fn check_apart(one: &ActivityDefinition, other: &ActivityDefinition) {
    if same(other.name, one.name) && !same(other.origin, one.origin) {
        fail(&[
            "the module has two activities named `",
            one.name,
            "`: ",
            other.origin,
            " and ",
            one.origin,
            "; give one of them another name with #[activity(name = \"…\")]",
        ]);
    }
}

/// Checks that the things of one kind that a workflow declares have valid and distinct names.
macro_rules! check_declared {
    ($workflow:ident.$list:ident, $one:literal, $many:literal, $attribute:literal) => {
        let list = $workflow.$list;
        let mut n = 0;
        while n < list.len() {
            names::check(concat!("the name of ", $one), list[n].name);
            let mut other = 0;
            while other < n {
                if same(list[n].name, list[other].name) {
                    fail(&[
                        "the workflow `",
                        $workflow.name,
                        concat!("` has two ", $many, " named `"),
                        list[n].name,
                        concat!(
                            "`; give one of them another name with #[",
                            $attribute,
                            "(name = \"…\")]"
                        ),
                    ]);
                }
                other += 1;
            }
            n += 1;
        }
    };
}

/// Checks that each name of a deferred has one type.
const fn check_deferreds(workflow: &WorkflowDefinition) {
    let list = workflow.deferreds;
    let mut n = 0;
    while n < list.len() {
        let mut other = 0;
        while other < n {
            if list[n].meets(&list[other]) {
                fail(&[
                    "the workflow `",
                    workflow.name,
                    "` lists the deferreds `",
                    list[other].name,
                    "` and `",
                    list[n].name,
                    "`, and a name could be one of both",
                ]);
            }
            other += 1;
        }
        n += 1;
    }
}

const fn check_workflow(workflow: &WorkflowDefinition) {
    names::check("the workflow name", workflow.name);
    check_deferreds(workflow);
    check_declared!(workflow.signals, "a signal", "signals", "signal");
    check_declared!(workflow.queries, "a query", "queries", "query");
    check_declared!(workflow.updates, "an update", "updates", "update");
    check_declared!(workflow.state, "a state", "states", "state");
    check_declared!(
        workflow.attributes,
        "an attribute",
        "attributes",
        "attribute"
    );
}

/// Checks that workflows have valid and distinct names.
pub(super) const fn check_workflows(workflows: &[&'static WorkflowDefinition]) {
    let mut w = 0;
    while w < workflows.len() {
        check_workflow(workflows[w]);
        let name = workflows[w].name;
        let mut other = 0;
        while other < w {
            if same(name, workflows[other].name) {
                fail(&["the module has two workflows named `", name, "`"]);
            }
            other += 1;
        }
        w += 1;
    }
}

/// Checks that schedules have valid and distinct names, and workflows of the module.
pub(super) const fn check_schedules(
    schedules: &[Schedule],
    workflows: &[&'static WorkflowDefinition],
) {
    let mut s = 0;
    while s < schedules.len() {
        let Schedule { name, workflow, .. } = schedules[s];
        names::check("the name of a schedule", name);
        let mut other = 0;
        while other < s {
            if same(name, schedules[other].name) {
                fail(&["the module has two schedules named `", name, "`"]);
            }
            other += 1;
        }
        let mut w = 0;
        while w < workflows.len() && !same(workflow, workflows[w].name) {
            w += 1;
        }
        if w == workflows.len() {
            fail(&[
                "the schedule `",
                name,
                "` starts the workflow `",
                workflow,
                "`, which the module does not list",
            ]);
        }
        s += 1;
    }
}

/// Checks that entities have valid and distinct names, and so do the operations of each.
pub(super) const fn check_entities(entities: &[&'static EntityDefinition]) {
    let mut e = 0;
    while e < entities.len() {
        entities[e].check();
        let name = entities[e].options.name;
        let mut other = 0;
        while other < e {
            if same(name, entities[other].options.name) {
                fail(&["the module has two entities named `", name, "`"]);
            }
            other += 1;
        }
        e += 1;
    }
}

pub(super) const fn check_migrations(migrations: &[Migration]) {
    let mut m = 0;
    while m < migrations.len() {
        let mut o = 0;
        while o < m {
            let (one, two) = (&migrations[o], &migrations[m]);
            let overlap =
                one.dialect.is_empty() || two.dialect.is_empty() || same(one.dialect, two.dialect);
            if one.version == two.version && overlap {
                fail(&[
                    "two migrations have the same version: `",
                    one.name,
                    "` and `",
                    two.name,
                    "`",
                ]);
            }
            o += 1;
        }
        m += 1;
    }
}
