import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct TaskReportTests {
    private func text(_ lines: [StyledText]) -> String { lines.map(\.plain).joined(separator: "\n") }

    @Test(arguments: TaskState.allCases)
    func showTellsEveryState(state: TaskState) {
        let text = text(TaskSheet.render(TaskSummary(Sample.view(7, state), events: [], now: Sample.now)))
        #expect(text.contains(state.rawValue))
        #expect(text.contains("https://example.org/pool/file-7.iso"))
        #expect(text.contains("/home/u"))
        #expect(text.contains("ETag"))
    }

    @Test func showDisarmsWhatServersSay() {
        var view = Sample.view(7)
        view.response?.headers = [HeaderField("X\u{1B}[1m", "a\nb\u{9B}")]
        view.spec.description = "x\u{1B}]0;title\u{7}"
        for line in TaskSheet.render(TaskSummary(view, events: [], now: Sample.now)) {
            #expect(!line.plain.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
        }
    }

    /// The members are in the order of use, and none repeats the summary.
    @Test func showSaysFirstWhatAUserNeeds() throws {
        let lines = TaskSheet.render(TaskSummary(Sample.view(7), events: [], now: Sample.now)).map(\.plain)
        let names = lines.dropFirst().map { line in String(line.prefix { $0 != " " }) }
        let blank = try #require(names.firstIndex(of: ""))
        #expect(Array(names[..<blank]) == ["Now:", "File:"])
        let order = ["url", "received", "session", "added", "attempts", "status", "type"]
        #expect(names[blank...].filter(order.contains) == order)
        #expect(lines.last?.contains("ETag") == true)
    }

    @Test func showNamesThePartsOfADownload() {
        var view = Sample.view(7)
        view.segments = (0..<20).map { number in
            SegmentView(
                ByteRange(ByteCount(Int64(number) * 1024), ByteCount(Int64(number) * 1024 + 1024)), received: 512,
                active: number < 2,
                url: "https://mirror-\(number).example.org/f")
        }
        let text = text(TaskSheet.render(TaskSummary(view, events: [], now: Sample.now)))
        #expect(text.contains("512 B of 1.0 KiB from 1.0 KiB, active, https://mirror-1.example.org/f"))
        #expect(text.contains("512 B of 1.0 KiB from 2.0 KiB, https://mirror-2.example.org/f"))
        #expect(text.contains("and 4 more") && !text.contains("mirror-16"))
    }

    @Test func narrowTerminalsBreakTheStoryBetweenWords() {
        let event = Sample.event(
            4, .taskWaiting, 7, ["reason": "a reason that is longer than forty cells are wide"])
        let lines = Explanation.render(
            TaskSummary(Sample.view(7, .waiting), events: [event], now: Sample.now), width: 60)
        let story = lines.map(\.plain).drop { $0 != "So far:" }.dropFirst()
        #expect(story.count > 1 && story.allSatisfy { DisplayWidth.of($0) <= 60 }, "\(story)")
        #expect(story.dropFirst().allSatisfy { $0.hasPrefix("        ") })
    }

    @Test func explainTellsTheStoryBehindTheSummary() {
        let events = [Sample.event(3, .taskAdded, 7), Sample.event(4, .taskWaiting, 7, ["reason": "network"])]
        let text = text(Explanation.render(TaskSummary(Sample.view(7, .waiting), events: events, now: Sample.now)))
        #expect(text.contains("Now:  waiting 0s for the network"))
        #expect(text.contains("\n\nSo far:\n"))
        #expect(text.hasSuffix("task.waiting  network"))
    }

    @Test func redirectionsInACircleAreCounted() {
        var events = [Sample.event(1, .taskStarted, 7)]
        events += (2...21).map { Sample.event($0, .taskRedirected, 7, ["url": "https://a/", "status": 302]) }
        let circle = text(Explanation.render(TaskSummary(Sample.view(7, .failed), events: events, now: Sample.now)))
        #expect(circle.split(separator: "\n").filter { $0.contains("task.redirected") }.count == 3)
        #expect(circle.hasSuffix("and 17 more redirects"))
        events.append(Sample.event(22, .taskFailed, 7))
        let ended = text(Explanation.render(TaskSummary(Sample.view(7, .failed), events: events, now: Sample.now)))
        #expect(ended.contains("and 17 more redirects\n") && ended.contains("task.failed"))
        let few = text(
            Explanation.render(TaskSummary(Sample.view(7, .failed), events: Array(events.prefix(4)), now: Sample.now)))
        #expect(!few.contains("more redirect"))
    }

    /// The first of several equal attempts is shown, with the number of attempts that followed it.
    @Test func attemptsThatWentAlikeAreToldOnce() {
        var number: Int64 = 1
        var events = [Sample.event(1, .taskAdded, 7)]
        func attempt(_ message: String) {
            for (type, payload) in [
                (EventType.taskStarted, ["attempt": .integer(number)]),
                (
                    .taskWaiting,
                    [
                        "reason": "retry", "nextAttemptAt": .string("2026-01-01T00:00:0\(number % 10)Z"),
                        "error": ["code": "network.connect", "message": .string(message)],
                    ]
                ),
            ] as [(EventType, [String: JSONValue])] {
                number += 1
                events.append(Sample.event(number, type, 7, payload))
            }
        }
        for _ in 0..<12 { attempt("No.") }
        events.insert(Sample.event(4, .taskQueued, 7), at: 5)
        attempt("Never.")
        let told = text(Explanation.render(TaskSummary(Sample.view(7, .waiting), events: events, now: Sample.now)))
        let story = told.split(separator: "\n").drop { $0 != "So far:" }.dropFirst().map(String.init)
        #expect(story.count == 6, "\(told)")
        #expect(story[0].contains("task.added") && story[1].contains("task.started"))
        #expect(story[2].contains("network.connect: No") && story[5].contains("network.connect: Never"))
        #expect(story[3].contains("and 11 more attempts with the same result, until 20"), "\(story[3])")
    }

    @Test func aCodingThatStaysIsTold() {
        var view = Sample.view(7, .completed)
        view.file = "/home/u/file-7.iso.xz"
        for (coding, said) in [("xz", "coded (xz)"), ("gzip, xz", "coded (gzip, xz)"), ("xz, gzip", "coded (xz)")] {
            view.response?.headers = [HeaderField("Content-Encoding", coding)]
            for lines in [
                TaskSheet.render(TaskSummary(view, events: [], now: Sample.now)),
                Explanation.render(TaskSummary(view, events: [], now: Sample.now)),
            ] {
                #expect(text(lines).contains(said), "\(coding)")
            }
        }
        for coding in ["gzip", "br, zstd", "utf-8", "identity"] {
            view.response?.headers = [HeaderField("Content-Encoding", coding)]
            #expect(
                !text(TaskSheet.render(TaskSummary(view, events: [], now: Sample.now))).contains("coded ("), "\(coding)"
            )
        }
    }

    @Test func whatADiskRefusesIsNotWaitedForOnly() {
        var view = Sample.view(7, .waiting)
        view.reason = .retry
        view.error = TransferError(.diskIO, "It refuses.")
        #expect(Explanation.advice(view)?.commands == ["dlctl update 7 -d DIR", "dlctl retry 7"])
    }

    @Test(arguments: ErrorCode.allCases)
    func everyCodeHasAdvice(code: ErrorCode) {
        let advice = Advice.on(code, task: TaskID(7))
        #expect(advice.sentence.count > 8)
        #expect(advice.sentence.hasSuffix(advice.commands.isEmpty ? "." : ":"))
        #expect(advice.sentence.first?.isUppercase == true || advice.sentence.hasPrefix("dlctl"))
        #expect(advice.commands.allSatisfy { $0.hasPrefix("dlctl ") })
        // No browser knows the scheme of a helper's URL.
        #expect(!advice.sentence.contains("browser"))
    }

    /// Other permissions do not allow a larger file.
    @Test func aFileThatIsTooLargeNeedsAnotherFolder() {
        let error = TransferError(.destinationNotWritable, "so it is", details: [TransferError.tooLargeMember: true])
        #expect(Advice.on(error, task: TaskID(7)).text.hasPrefix("Choose a folder that takes files of this size"))
    }

    /// "Check that the disk is healthy" helps nobody whose folder is not there.
    @Test(arguments: [
        (FolderFault.missing, "Move the folder back"), (.moved, "Move the folder back"),
        (.otherFileSystem, "Another file system is mounted over the folder"),
    ])
    func whatIsWrongWithTheFolderHasItsAdvice(fault: FolderFault, beginning: String) {
        var view = Sample.view(7, .waiting)
        view.reason = .disk
        view.error = TransferError(.diskIO, "so it is", details: [FolderFault.member: .string(fault.rawValue)])
        let advice = Explanation.advice(view)
        #expect(advice?.sentence.hasPrefix(beginning) == true && advice?.sentence.contains("by itself") == true)
        #expect(advice?.commands.last == "dlctl update 7 -d DIR")
    }

    /// A mirror would help as little as another attempt.
    @Test func aBombIsKeptCodedOrNotAtAll() {
        var view = Sample.view(7, .failed)
        view.error = TransferError(.httpProtocol, "so it is", details: [TransferError.bombMember: true])
        #expect(Explanation.advice(view)?.commands == ["dlctl update 7 -o FILE.gz", "dlctl retry 7"])
        view.spec.kind = .data
        #expect(Explanation.advice(view)?.commands == ["dlctl add -o FILE.gz URL"])
        #expect(Explanation.advice(view)?.sentence.contains("Only if you trust the server") == true)
    }

    /// Who may not change the settings of the system's daemon is told whom to ask, and no command that is refused.
    @Test func whoMayNotConfigureIsTold() {
        for reason in [QueueReason.slots, .user, .hostSlots] {
            let advice = Advice.on(reason, task: TaskID(7), session: "s", mayConfigure: false)
            #expect(advice.sentence.contains("administrator"), "\(reason)")
            #expect(!advice.commands.contains { $0.hasPrefix("dlctl limit") || $0.hasPrefix("dlctl settings") })
        }
        var view = Sample.view(7, .waiting)
        view.reason = .disk
        view.error = TransferError(.diskFull, "so it is", details: ["minimum": 5])
        #expect(Explanation.advice(view, mayConfigure: false)?.commands == [])
        #expect(Explanation.advice(view)?.commands == ["dlctl settings minimumFreeSpace=SIZE"])
        view = Sample.view(7, .failed)
        view.error = TransferError(.limitReached, "so it is")
        #expect(Explanation.advice(view, mayConfigure: false)?.sentence.contains("administrator") == true)
    }

    @Test func whoHadTooLittleTimeIsNotSentToADeadline() {
        var view = Sample.view(7, .failed)
        view.error = TransferError(.deadlineExceeded, "so it is")
        #expect(Explanation.advice(view)?.commands == ["dlctl retry 7"])
        view.spec.deadlineAt = Sample.now
        #expect(Explanation.advice(view)?.commands == ["dlctl update 7 --deadline TIME", "dlctl retry 7"])
    }

    @Test(arguments: [WaitReason.retry, .network])
    func aNameThatDoesNotResolveCanBeCorrectedWhileTheTaskWaits(reason: WaitReason) {
        var view = Sample.view(7, .waiting)
        view.reason = reason
        view.error = TransferError(.networkDNS, "so it is", retryable: true)
        #expect(Explanation.advice(view)?.commands == ["dlctl update 7 --url URL", "dlctl retry 7"])
        view.spec.proxy = "http://proxy:3128"
        #expect(Explanation.advice(view)?.commands == ["dlctl retry 7"])
    }

    /// Another address would not help, except in place of a link that has expired.
    @Test(arguments: [(403, "has expired"), (429, "later"), (500, "later"), (503, "later")])
    func theAdviceOnAStatusFitsIt(status: Int64, part: String) {
        let error = TransferError(.httpStatus, "so it is", details: ["status": .integer(status)])
        let advice = Advice.on(error, task: TaskID(7))
        #expect(advice.sentence.contains(part) && advice.text.contains("--url") == (status == 403))
        #expect(advice.commands.last == "dlctl retry 7")
    }

    /// The task does not continue by itself, whatever the cause.
    @Test(arguments: [ErrorCode.networkConnect, .networkLost, .networkTimeout, .integrityLength, .httpStatus])
    func whoFailedForGoodIsNotToldToWait(code: ErrorCode) {
        var view = Sample.view(7, .failed)
        view.error = TransferError(code, "so it is", retryable: true)
        #expect(Explanation.advice(view)?.commands.last == "dlctl retry 7")
        #expect(Explanation.advice(view)?.sentence.contains("itself") == false)
    }

    /// Waiting for the next attempt does not help against a server that has no https.
    /// `show --secrets` of a task that a client has sent elsewhere.
    @Test func theRequestInPlaceOfTheTasksOwnIsShown() {
        var view = Sample.view(7)
        #expect(!text(TaskSheet.render(TaskSummary(view, events: [], now: Sample.now))).contains("now requests"))
        var body = RequestBody()
        body.text = "a\nb"
        view.currentRequest = TaskRequest(
            url: "https://elsewhere.example/x\u{1B}", method: "PUT", headers: [HeaderField("X-Token", "s3cret\u{9B}")],
            body: body)
        let lines = TaskSheet.render(TaskSummary(view, events: [], now: Sample.now)).map(\.plain)
        #expect(lines.contains { $0.hasPrefix("now requests") && $0.contains("PUT https://elsewhere.example/x") })
        #expect(lines.contains { $0.contains("  X-Token") && $0.contains("s3cret") })
        #expect(lines.contains { $0.contains("  body") && $0.contains("a b") })
        #expect(!lines.contains { $0.unicodeScalars.contains { "\u{1B}\u{9B}".unicodeScalars.contains($0) } })
    }

    @Test func whatHSTSTurnedIntoHTTPSCanBeForgotten() {
        var view = Sample.view(7, .waiting)
        view.reason = .retry
        view.error = TransferError(
            .tlsFailed, "So it is.", retryable: true, details: ["hsts": ["domain": "example.org", "learned": "then"]])
        #expect(Explanation.advice(view)?.commands == ["dlctl hsts remove example.org", "dlctl retry 7"])
        view.error?.details = [:]
        #expect(Explanation.advice(view)?.sentence.contains("by itself") == true)
    }

    /// The advice names what the task waits for, not the earlier error.
    @Test func whoWaitsForItsTimeIsToldSo() {
        var view = Sample.view(7, .waiting)
        view.error = TransferError(.networkDNS, "no such name", retryable: true)
        view.reason = .schedule
        #expect(Explanation.advice(view)?.sentence.contains("when its time comes") == true)
        view.reason = .disk
        view.error = TransferError(.diskQuota, "used up", retryable: true)
        #expect(Explanation.advice(view)?.sentence.contains("your quota") == true)
    }

    @Test(arguments: WaitReason.allCases)
    func everyReasonHasAdvice(reason: WaitReason) {
        #expect(Advice.on(reason, task: TaskID(7)).sentence.count > 10)
        #expect(!reason.words.isEmpty)
    }

    @Test func eventsReadAsSentences() {
        let failed = Sample.event(
            12, .taskFailed, 7, ["error": ["code": "http.status", "message": "404 Not Found"]])
        #expect(EventLine.render(failed).plain.hasSuffix("7  task.failed  http.status: 404 Not Found"))
        let resumed = Sample.event(13, .taskResumed, 7, ["offset": 1024, "expected": 4096])
        #expect(EventLine.details(resumed) == "at 1.0 KiB, of 4.0 KiB")
        let answered = Sample.event(
            13, .taskResponse, 7,
            [
                "response": [
                    "status": 200, "statusText": "OK", "mimeType": "a/b\u{1B}", "expectedLength": 2048, "headers": [],
                ]
            ])
        #expect(EventLine.details(answered) == "200 OK, a/b\u{FFFD}, 2.0 KiB")
        let waiting = Sample.event(
            13, .taskWaiting, 7,
            ["reason": "retry", "error": ["code": "http.status", "message": "503."], "url": "http://a/"])
        #expect(EventLine.details(waiting) == "retry, http.status: 503, http://a/")
        let done = Sample.event(13, .taskCompleted, 7, ["bytes": 1024, "verified": true, "url": "http://a/"])
        #expect(EventLine.details(done) == "1.0 KiB, verified, http://a/")
        let unverified = Sample.event(13, .taskCompleted, 7, ["bytes": 1024, "verified": false])
        #expect(EventLine.details(unverified) == "1.0 KiB")
        let restarted = Sample.event(13, .taskRestarted, 7, ["code": "integrity.piece", "pieces": [1, 4]])
        #expect(EventLine.details(restarted) == "integrity.piece, 2 pieces")
        let asked = Sample.event(
            13, .taskDecision, 7,
            [
                "decision": 3, "kind": "redirect", "default": "follow", "actions": ["follow", "refuse"],
                "response": ["url": "http://a/", "status": 302, "headers": [], "expectedLength": -1],
                "request": ["url": "http://b/", "method": "GET"],
            ])
        #expect(EventLine.details(asked) == "question 3: The server redirects (302) to GET http://b/.")
        let moved = Sample.event(13, .taskRedirected, 7, ["status": 302, "url": "http://b/"])
        #expect(EventLine.details(moved) == "302, http://b/")
        let progress = Sample.event(
            0, .taskProgress, 7, ["phase": "receiving", "bytesReceived": 1024, "bytesExpected": -1, "bytesSent": 0])
        #expect(EventLine.details(progress) == "receiving, 1.0 KiB")
        let other = Sample.event(14, .settingsChanged, 7, ["name": "x", "extra": ["a": 1]])
        #expect(EventLine.details(other) == "extra={\"a\":1}, name=x")
    }
}
