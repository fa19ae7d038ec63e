package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) scheduleCommand() *cobra.Command {
	return group(
		"schedule",
		"Start workflows at their times",
		`Start workflows at their times. Each tick of a schedule is one execution,
whatever happens to the host meanwhile.`,
		`  cruster-host schedule create nightly reports/Nightly --cron '30 4 * * *' \
    --zone Europe/Berlin
  cruster-host schedule describe nightly`,
		a.scheduleCreate(),
		a.scheduleList(),
		a.scheduleDescribe(),
		a.schedulePause(),
		a.scheduleResume(),
		a.scheduleTrigger(),
		a.scheduleBackfill(),
		a.scheduleUpdate(),
		a.scheduleDelete(),
	)
}

func (a *app) scheduleCreate() *cobra.Command {
	var f specFlags
	var paused bool
	var note string
	cmd := &cobra.Command{
		Use:   "create NAME WORKFLOW",
		Short: "Create a schedule",
		Long: `Create a schedule that starts a workflow at the times of a cron expression or an
interval, or always: again when the run before is over.`,
		Example: `  cruster-host schedule create nightly reports/Nightly \
    --cron '30 4 * * MON-FRI' --zone Europe/Berlin
  cruster-host schedule create poll feeds/Poll --every 15m --jitter 1m \
    --overlap queue --input '{"feed":"news"}'
  cruster-host schedule create leader jobs/Lead --always`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec := &crusterv1.ScheduleSpec{Workflow: args[1]}
			if err := a.applySpec(&f, cmd, spec); err != nil {
				return err
			}
			if spec.GetTimes() == nil {
				return usage.Errorf("the schedule has no times: give it --cron, --every or --always")
			}
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Schedules().CreateSchedule(cmd.Context(), &crusterv1.CreateScheduleRequest{
					Namespace: a.namespace, Name: args[0], Spec: spec, Paused: paused, Note: note,
				})
				if err != nil {
					return err
				}
				return a.printSchedule(resp.GetSchedule())
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&paused, "paused", false, "create it paused")
	cmd.Flags().StringVar(&note, "note", "", "a note for people")
	return cmd
}

func (a *app) printSchedule(s *crusterv1.Schedule) error {
	return a.emit(view.ScheduleOf(s), func() error { return view.WriteSchedule(a.stdout, s) })
}

func (a *app) scheduleUpdate() *cobra.Command {
	var f specFlags
	var workflow string
	cmd := &cobra.Command{
		Use:   "update NAME",
		Short: "Change what a schedule does, and when",
		Long: `Change what a schedule does, and when. What no flag is given for stays as it is.
Ticks of new times begin after this moment.`,
		Example: "  cruster-host schedule update nightly --cron '0 5 * * *' --overlap queue",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				was, err := c.Schedules().GetSchedule(cmd.Context(), &crusterv1.GetScheduleRequest{
					Namespace: a.namespace, Name: args[0], Encoding: crusterv1.Encoding_ENCODING_MSGPACK,
				})
				if err != nil {
					return err
				}
				spec := was.GetSchedule().GetSpec()
				if cmd.Flags().Changed("workflow") {
					spec.Workflow = workflow
				}
				if err := a.applySpec(&f, cmd, spec); err != nil {
					return err
				}
				resp, err := c.Schedules().UpdateSchedule(cmd.Context(), &crusterv1.UpdateScheduleRequest{
					Namespace: a.namespace, Name: args[0], Spec: spec,
				})
				if err != nil {
					return err
				}
				return a.printSchedule(resp.GetSchedule())
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&workflow, "workflow", "", "another workflow")
	return cmd
}

func (a *app) scheduleList() *cobra.Command {
	var after string
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List schedules by name",
		Long:    "List schedules by name, each with its next time.",
		Example: "  cruster-host schedule list -o jsonl",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return usage.Errorf("--limit is %d, not 1 or more", limit)
			}
			return a.withClient(func(c *client.Client) error {
				schedules, next, err := a.listSchedules(cmd, c, after, limit)
				if err != nil {
					return err
				}
				a.noteEmptyNamespace(cmd.Context(), c, len(schedules))
				return a.printSchedules(schedules, next)
			})
		},
	}
	cmd.Flags().StringVar(&after, "after", "", "where the page before ended")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many schedules at most")
	return cmd
}

// listSchedules reads up to limit schedules, page by page.
func (a *app) listSchedules(
	cmd *cobra.Command, c *client.Client, after string, limit int,
) (all []*crusterv1.Schedule, next string, err error) {
	for {
		resp, err := c.Schedules().ListSchedules(cmd.Context(), &crusterv1.ListSchedulesRequest{
			Namespace: a.namespace, PageSize: int32(min(limit-len(all), pageLimit)), PageToken: after,
		})
		if err != nil {
			return nil, "", err
		}
		all, after = append(all, resp.GetSchedules()...), resp.GetNextPageToken()
		if after == "" || len(all) >= limit {
			return all, after, nil
		}
	}
}

func (a *app) printSchedules(schedules []*crusterv1.Schedule, next string) error {
	views := []view.Schedule{}
	for _, s := range schedules {
		views = append(views, view.ScheduleOf(s))
	}
	whole := map[string]any{"schedules": views, "next": next}
	return emitAll(a, views, whole, func() error {
		err := view.WriteSchedules(a.stdout, schedules)
		if next != "" {
			fmt.Fprintf(a.stderr, "more: add --after %s\n", next)
		}
		return err
	})
}

func (a *app) scheduleDescribe() *cobra.Command {
	var upcoming int32
	cmd := &cobra.Command{
		Use:     "describe NAME",
		Short:   "Show a schedule with its last runs and its next times",
		Long:    "Show a schedule with its last runs and its next times.",
		Example: "  cruster-host schedule describe nightly --next 10",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Schedules().GetSchedule(cmd.Context(), &crusterv1.GetScheduleRequest{
					Namespace: a.namespace, Name: args[0], Upcoming: upcoming, Encoding: jsonForm,
				})
				if err != nil {
					return err
				}
				return a.printSchedule(resp.GetSchedule())
			})
		},
	}
	cmd.Flags().Int32Var(&upcoming, "next", 5, "how many of its next times to show, up to 100")
	return cmd
}

func (a *app) schedulePause() *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use:   "pause NAME",
		Short: "Start no tick until the schedule is resumed",
		Long: "Start no tick until the schedule is resumed. Ticks of the time between are gone;\n'schedule " +
			"backfill' brings them back. Runs that are not over go on.",
		Example: "  cruster-host schedule pause nightly --note 'the warehouse moves'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				if err := c.Schedule(args[0]).Pause(cmd.Context(), note); err != nil {
					return err
				}
				return a.scheduleDone(args[0], "paused", "paused")
			})
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "why, for people")
	return cmd
}

func (a *app) scheduleResume() *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use:     "resume NAME",
		Short:   "Let a paused schedule go on",
		Long:    "Let a paused schedule go on with the next tick.",
		Example: "  cruster-host schedule resume nightly",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				if err := c.Schedule(args[0]).Resume(cmd.Context(), note); err != nil {
					return err
				}
				return a.scheduleDone(args[0], "resumed", "resumed")
			})
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "a note for people; it replaces that of the pause")
	return cmd
}

// scheduleDone prints that something was done; text says it to people.
func (a *app) scheduleDone(name, done, text string) error {
	return a.emit(view.ScheduleDone{Done: done, Schedule: name}, func() error {
		_, err := fmt.Fprintf(a.stdout, "%s: %s\n", text, terminal.OneLine(name))
		return err
	})
}

func (a *app) scheduleTrigger() *cobra.Command {
	var request requestID
	cmd := &cobra.Command{
		Use:   "trigger NAME",
		Short: "Start a run now",
		Long: `Start a run now, by the overlap policy, also of a schedule that is paused. With
--request-id the command can be repeated: the same request is started once.`,
		Example: "  cruster-host schedule trigger nightly",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Schedules().TriggerSchedule(cmd.Context(), &crusterv1.TriggerScheduleRequest{
					Namespace: a.namespace, Name: args[0], RequestId: request.id(),
				})
				if err != nil {
					return err
				}
				return a.emit(view.ScheduleRunOf(resp.GetRun()), func() error {
					return view.WriteScheduleRuns(a.stdout, []*crusterv1.ScheduleRun{resp.GetRun()})
				})
			})
		},
	}
	request.add(cmd, "start one run")
	return cmd
}

func (a *app) scheduleBackfill() *cobra.Command {
	var from, to, overlap string
	cmd := &cobra.Command{
		Use:   "backfill NAME",
		Short: "Start the ticks of a range of times",
		Long: `Start the ticks of a range of times that have not been started: one after the
other with --overlap queue, all at once with --overlap allow.`,
		Example: `  cruster-host schedule backfill nightly --from 2026-01-01T00:00:00Z \
    --to 2026-01-31T00:00:00Z`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := &crusterv1.BackfillScheduleRequest{Namespace: a.namespace, Name: args[0]}
			var err error
			if req.StartTime, err = parseInstant("from", from); err != nil {
				return err
			}
			if req.EndTime, err = parseInstant("to", to); err != nil {
				return err
			}
			if req.GetStartTime() == nil || req.GetEndTime() == nil {
				return usage.Errorf("--from and --to say which times")
			}
			if overlap != "" {
				if req.Overlap, err = parseOverlap(overlap); err != nil {
					return err
				}
			}
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Schedules().BackfillSchedule(cmd.Context(), req)
				if err != nil {
					return err
				}
				ticks := resp.GetTicks()
				return a.emit(view.ScheduleDone{Done: "backfill", Schedule: args[0], Ticks: &ticks}, func() error {
					_, err := fmt.Fprintf(
						a.stdout, "%d ticks are to be started that have not been: %s\n", ticks,
						terminal.OneLine(args[0]),
					)
					return err
				})
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the first time, such as 2026-01-31T12:00:00Z")
	cmd.Flags().StringVar(&to, "to", "", "the last time")
	cmd.Flags().StringVar(
		&overlap, "overlap", "", "queue or allow; queue if it is not given, or allow if the schedule allows it",
	)
	return cmd
}

func (a *app) scheduleDelete() *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a schedule",
		Long: `Delete a schedule. Runs that are not over go on; 'workflow interrupt' stops
them.`,
		Example: "  cruster-host schedule delete nightly",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				if err := c.Schedule(args[0]).Delete(cmd.Context()); err != nil {
					return err
				}
				return a.scheduleDone(args[0], "deleted", "deleted")
			})
		},
	}
}
