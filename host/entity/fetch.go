package entity

// beginFetch has the inbox read, if there may be something in it that can be worked on.
func (e *entity) beginFetch() {
	if e.reading.until != 0 || !e.mailbox.WantsPage() {
		return
	}
	acked := e.mailbox.BeginPage()
	if !e.begin(e.workers.working, func() message {
		page, err := e.workers.inboxes.Read(e.id, acked)
		return fetched{page, err}
	}) {
		e.mailbox.PageFailed()
	}
}

// takeFetched takes over a page of the inbox.
func (e *entity) takeFetched(m fetched) {
	if m.err != nil {
		e.mailbox.PageFailed()
		e.retryLater("read the inbox", m.err)
		return
	}
	e.starts.wanted = e.starts.wanted || m.page.Starts
	e.mailbox.TakePage(&m.page)
}
