package main

import (
	"errors"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"github.com/slack-go/slack"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/stdhttp"
)

// Summarise asks a model.
var Summarise = cruster.NewActivity("summarise", summarise, cruster.Retries(5), cruster.ExponentialBackoff(time.Second))

func summarise(ctx *cruster.ActivityContext, notes []string) (string, error) {
	key, _ := ctx.Config("openai_key")
	config := openai.DefaultConfig(key)
	if url, ok := ctx.Config("openai_url"); ok {
		config.BaseURL = url
	}
	config.HTTPClient = stdhttp.Client(ctx)
	answer, err := openai.NewClientWithConfig(config).CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model: openai.GPT4oMini,
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: prompt},
			{Role: openai.ChatMessageRoleUser, Content: strings.Join(notes, "\n")},
		},
	})
	var refused *openai.APIError
	switch {
	case errors.As(err, &refused) && refused.HTTPStatusCode == 401:
		return "", cruster.NonRetryable(err)
	case err != nil:
		return "", err
	}
	return answer.Choices[0].Message.Content, nil
}

// Message is a post.
type Message struct {
	Channel string `json:"channel"`
	Text    string `json:"text"`
}

// Post posts a message.
var Post = cruster.NewActivity("post", post, cruster.Retries(5), cruster.ExponentialBackoff(time.Second))

func post(ctx *cruster.ActivityContext, m Message) (string, error) {
	token, _ := ctx.Config("slack_token")
	options := []slack.Option{slack.OptionHTTPClient(stdhttp.Client(ctx))}
	if url, ok := ctx.Config("slack_url"); ok {
		options = append(options, slack.OptionAPIURL(url))
	}
	// An attempt whose answer is lost is repeated: the service knows the message by its id.
	_, id, err := slack.New(token, options...).PostMessageContext(ctx, m.Channel,
		slack.MsgOptionText(m.Text, false), slack.MsgOptionMetadata(slack.SlackMetadata{
			EventType: "standup", EventPayload: map[string]any{"id": ctx.IdempotencyKey()},
		}))
	return id, err
}
