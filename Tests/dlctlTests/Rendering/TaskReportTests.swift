import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct TaskReportTests {
    private func text(_ lines: [StyledText]) -> String { lines.map(\.plain).joined(separator: "\n") }

    @Test(arguments: TaskState.allCases)
    func showTellsEveryState(state: TaskState) {
        let text = text(TaskSheet.render(Sample.view(7, state), now: Sample.now))
        #expect(text.contains(state.rawValue))
        #expect(text.contains("https://example.org/pool/file-7.iso"))
        #expect(text.contains("/home/u"))
        #expect(text.contains("ETag"))
    }

    @Test func showDisarmsWhatServersSay() {
        var view = Sample.view(7)
        view.response?.headers = [HeaderField("X\u{1B}[1m", "a\nb\u{9B}")]
        view.spec.description = "x\u{1B}]0;title\u{7}"
        for line in TaskSheet.render(view, now: Sample.now) {
            #expect(!line.plain.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
        }
    }

    @Test func explainSaysNowWhyAndWhatToDo() {
        let events = [Sample.eventView(3, .taskAdded, 7), Sample.eventView(4, .taskWaiting, 7, ["reason": "network"])]
        let text = text(
            Explanation.render(Sample.view(7, .waiting), events: events, now: Sample.now))
        #expect(text.contains("waiting for: network; tried again when it is back, at "))
        #expect(text.contains(" at the latest."))
        #expect(text.contains("in 30s"))
        #expect(text.contains("network.connect: connection refused"))
        #expect(text.contains("dlctl retry 7 tries now"))
        #expect(text.contains("task.waiting"))
    }

    @Test(arguments: TaskState.allCases)
    func explainKnowsEveryState(state: TaskState) {
        let lines = Explanation.render(Sample.view(7, state), events: [], now: Sample.now)
        #expect(lines.count >= 3)
        #expect(lines[2].plain.hasPrefix("Now: "))
    }

    @Test func explainSaysWhatAFailedTaskKeeps() {
        var failed = Sample.view(7, .failed)
        failed.bytesReceived = 0
        #expect(text(Explanation.render(failed, events: [], now: Sample.now)).contains("; nothing of it is kept."))
        failed.bytesReceived = 5 << 20
        #expect(text(Explanation.render(failed, events: [], now: Sample.now)).contains("; 5.0 MiB of it is kept."))
        failed.spec.kind = .upload
        #expect(!text(Explanation.render(failed, events: [], now: Sample.now)).contains("kept"))
    }

    @Test func redirectionsInACircleAreCounted() {
        var events = [Sample.eventView(1, .taskStarted, 7)]
        events += (2...21).map { Sample.eventView($0, .taskRedirected, 7, ["url": "https://a/", "status": 302]) }
        let circle = text(Explanation.render(Sample.view(7, .failed), events: events, now: Sample.now))
        #expect(circle.split(separator: "\n").filter { $0.contains("task.redirected") }.count == 3)
        #expect(circle.hasSuffix("and 17 more redirections"))
        events.append(Sample.eventView(22, .taskFailed, 7))
        let ended = text(Explanation.render(Sample.view(7, .failed), events: events, now: Sample.now))
        #expect(ended.contains("and 17 more redirections\n") && ended.contains("task.failed"))
        let few = text(Explanation.render(Sample.view(7, .failed), events: Array(events.prefix(4)), now: Sample.now))
        #expect(!few.contains("more redirection"))
    }

    @Test func aCodingThatStaysIsTold() {
        var view = Sample.view(7, .completed)
        view.file = "/home/u/file-7.iso.br"
        for (coding, said) in [("br", "coded (br)"), ("gzip, br", "coded (gzip, br)"), ("br, gzip", "coded (br)")] {
            view.response?.headers = [HeaderField("Content-Encoding", coding)]
            for lines in [
                TaskSheet.render(view, now: Sample.now), Explanation.render(view, events: [], now: Sample.now),
            ] {
                #expect(text(lines).contains(said), "\(coding)")
            }
        }
        for coding in ["gzip", "utf-8", "identity"] {
            view.response?.headers = [HeaderField("Content-Encoding", coding)]
            #expect(!text(TaskSheet.render(view, now: Sample.now)).contains("coded ("), "\(coding)")
        }
    }

    @Test func whatADiskRefusesIsNotWaitedForOnly() {
        var view = Sample.view(7, .waiting)
        view.reason = .retry
        view.error = TransferError(.diskIO, "It refuses.")
        #expect(Explanation.advice(view)?.contains("dlctl update 7 -d DIR") == true)
    }

    @Test func explainSaysWhatAQueuedTaskWaitsFor() {
        let queueing = TaskView.Queueing(
            reason: .host, explanation: "https://a:443 does not answer.", nextAttemptAt: Sample.now.advanced(by: 30))
        let held = text(Explanation.render(Sample.view(7, .queued).with(queueing), events: [], now: Sample.now))
        #expect(held.contains("https://a:443 does not answer. Next try at") && held.contains("in 30s"))
        let next = text(Explanation.render(Sample.view(7, .queued), events: [], now: Sample.now))
        #expect(next.contains("It starts as soon as"))
    }

    @Test func explainNamesADiskThatDoesNotAnswer() {
        let view = Sample.view(7, .running).with(trouble: "The disk of /mnt/x does not answer.")
        let held = text(Explanation.render(view, events: [], now: Sample.now))
        #expect(held.contains("The disk of /mnt/x does not answer."))
    }

    @Test(arguments: ErrorCode.allCases)
    func everyCodeHasAdvice(code: ErrorCode) {
        let advice = Advice.text(code, task: TaskID(7))
        #expect(advice.count > 10)
        #expect(advice.hasSuffix(".") || advice.hasSuffix("it."))
        #expect(advice.first?.isLowercase != true || advice.hasPrefix("dlctl"))
    }

    /// Other rights do not make room.
    @Test func aFileThatIsTooLargeNeedsAnotherFolder() {
        let error = TransferError(.destinationNotWritable, "so it is", details: [TransferError.tooLargeMember: true])
        #expect(Advice.text(error, task: TaskID(7)).hasPrefix("Choose a folder that takes files of this size"))
    }

    /// Nothing happens to it by itself, whatever the cause.
    @Test(arguments: [ErrorCode.networkConnect, .networkLost, .networkTimeout, .integrityLength, .httpStatus])
    func whoFailedForGoodIsNotToldToWait(code: ErrorCode) {
        var view = Sample.view(7, .failed)
        view.error = TransferError(code, "so it is", retryable: true)
        #expect(Explanation.advice(view)?.contains("dlctl retry 7") == true)
        #expect(Explanation.advice(view)?.contains("itself") == false)
    }

    /// What it waits for, not what went wrong before.
    @Test func whoWaitsForItsTimeIsToldSo() {
        var view = Sample.view(7, .waiting)
        view.error = TransferError(.networkDNS, "no such name", retryable: true)
        view.reason = .schedule
        #expect(Explanation.advice(view)?.contains("when its time comes") == true)
        view.reason = .disk
        view.error = TransferError(.diskQuota, "used up", retryable: true)
        #expect(Explanation.advice(view)?.contains("your quota") == true)
    }

    @Test(arguments: WaitReason.allCases)
    func everyReasonHasAdvice(reason: WaitReason) {
        #expect(Advice.text(reason, task: TaskID(7)).count > 10)
        #expect(!TaskWords.reason(reason).isEmpty)
    }

    @Test func eventsReadAsSentences() {
        let failed = Sample.eventView(
            12, .taskFailed, 7, ["error": ["code": "http.status", "message": "404 Not Found"]])
        #expect(EventLine.render(failed).plain.hasSuffix("7  task.failed  http.status: 404 Not Found"))
        let resumed = Sample.eventView(13, .taskResumed, 7, ["offset": 1024, "expected": 4096])
        #expect(EventLine.details(resumed) == "at 1.0 KiB, of 4.0 KiB")
        let answered = Sample.eventView(
            13, .taskResponse, 7,
            [
                "response": [
                    "status": 200, "statusText": "OK", "mimeType": "a/b\u{1B}", "expectedLength": 2048, "headers": [],
                ]
            ])
        #expect(EventLine.details(answered) == "200 OK, a/b\u{FFFD}, 2.0 KiB")
        let other = Sample.eventView(14, .settingsChanged, 7, ["name": "x", "extra": ["a": 1]])
        #expect(EventLine.details(other) == "extra={\"a\":1}, name=x")
    }
}
