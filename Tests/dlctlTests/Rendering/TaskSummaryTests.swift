import Testing
import TransferModel
import TransferRPC

@testable import dlctl

/// The first lines of `show` and `explain`, word for word.
@Suite struct TaskSummaryTests {
    private func lines(_ view: TaskView, since: Timestamp? = Sample.now.advanced(by: -12), width: Int? = nil)
        -> [String]
    {
        var summary = TaskSummary(view, events: [], now: Sample.now)
        summary.since = since
        return summary.render(width: width).map(\.plain)
    }

    private func view(_ state: TaskState, _ change: (inout TaskView) -> Void = { _ in }) -> TaskView {
        var view = Sample.view(7, state)
        view.spec.destination?.filename = "f.iso"
        if !state.isFinal { (view.bytesReceived, view.bytesExpected) = (1 << 20, 4 << 20) }
        change(&view)
        return view
    }

    private var inTwentySeconds: Timestamp { Sample.now.advanced(by: 20) }
    private func time(_ timestamp: Timestamp) -> String { LocalTime.text(timestamp) }

    // MARK: Queued

    @Test func queuedBehindSlots() {
        let queueing = Queueing(
            reason: .slots, explanation: "All 32 slots of the daemon are taken (maximumConcurrentTasks).")
        let view = view(.queued) { $0.bytesReceived = 0 }.with(queueing)
        #expect(
            lines(view) == [
                "7  f.iso", "Now:  queued for 12s. All 32 slots of the daemon are taken (maximumConcurrentTasks).",
                "Do:   Nothing. It starts when another task ends. To run more at once:",
                "        dlctl limit --tasks N", "File: /home/u/f.iso (when it is complete)",
            ])
    }

    @Test func queuedBehindOthersOnly() {
        let said = lines(view(.queued), since: nil)
        #expect(
            said[1]
                == "Now:  queued. It starts as soon as the tasks before it have started. 1.0 MiB of 4.0 MiB (25%) is here."
        )
    }

    @Test func queuedForAHostThatDoesNotAnswer() {
        let queueing = Queueing(
            reason: .host,
            explanation: "https://a:443 does not answer; one task at a time probes it. dlctl retry 7 probes now.",
            nextAttemptAt: inTwentySeconds)
        let said = lines(view(.queued) { $0.bytesReceived = 0 }.with(queueing))
        #expect(
            said[1] == "Now:  queued for 12s. https://a:443 does not answer; one task at a time probes it. Next try at "
                + "\(time(inTwentySeconds)) (in 20s).")
        #expect(said[3] == "        dlctl retry 7")
    }

    @Test func queuedInAPausedSession() {
        let queueing = Queueing(reason: .sessionPaused, explanation: "so it is")
        let said = lines(view(.queued) { ($0.bytesReceived, $0.session) = (0, "it's night") }.with(queueing))
        #expect(said[1] == #"Now:  queued for 12s. Its session "it's night" is paused."#)
        #expect(said[3] == #"        dlctl session resume 'it'\''s night'"#)
    }

    @Test(arguments: [
        (QueueReason.user, "dlctl settings maximumConcurrentTasksPerUser=N"),
        (.session, "dlctl session set shared maximumConcurrentTasks=N"), (.hostSlots, "dlctl limit --per-host N"),
    ])
    func queuedBehindAnyLimitNamesTheCommandThatRaisesIt(_ reason: QueueReason, _ command: String) {
        let queueing = Queueing(reason: reason, explanation: "The only slot is taken.")
        let said = lines(view(.queued).with(queueing))
        #expect(said[2].hasPrefix("Do:   Nothing. It starts when another task of its "))
        #expect(said[3] == "        " + command)
    }

    // MARK: Sessions of waiting tasks

    private func session(paused: Bool = false, _ schedule: [ScheduleWindow]? = nil) -> SessionView {
        var record = SessionRecord(key: SessionKey(owner: UserID(1000), identifier: "night"), createdAt: Sample.now)
        record.configuration.schedule = schedule
        var view = SessionView(record, tasks: [:], unacknowledgedEvents: 0)
        view.paused = paused ? true : nil
        return view
    }

    private func lines(_ view: TaskView, in session: SessionView, events: [EventView] = []) -> [String] {
        TaskSummary(view, events: events, in: session, now: Sample.now).render(width: nil).map(\.plain)
    }

    private func scheduled(_ begin: Timestamp? = nil) -> TaskView {
        view(.waiting) {
            ($0.reason, $0.nextAttemptAt, $0.attempts, $0.session) = (.schedule, inTwentySeconds, 0, "night")
            ($0.error, $0.spec.earliestBeginAt) = (nil, begin)
        }
    }

    /// A retry does not open the session's window.
    @Test func aScheduleIsLiftedInItsSession() {
        let windows = [ScheduleWindow(begin: "01:00", end: "06:00")]
        let unset = "        dlctl session set night schedule=default"
        let said = lines(scheduled(), in: session(windows))
        #expect(said[3] == unset && said[4].hasPrefix("File:"), "\(said)")
        let both = lines(scheduled(inTwentySeconds), in: session(windows))
        #expect(Array(both[3...4]) == [unset, "        dlctl retry 7"], "\(both)")
        let own = lines(scheduled(inTwentySeconds), in: session())
        #expect(own[3] == "        dlctl retry 7" && own[4].hasPrefix("File:"), "\(own)")
    }

    @Test(arguments: [WaitReason.schedule, .retry])
    func aWaitInAPausedSessionIsNoWaitForATime(_ reason: WaitReason) {
        var view = scheduled()
        view.reason = reason
        let said = lines(view, in: session(paused: true))
        #expect(said[1].contains(#". Its session "night" is paused."#) && !said[1].contains(" at "), "\(said)")
        #expect(said[2] == "Do:   To run the session's tasks:")
        #expect(said[3] == "        dlctl session resume night")
    }

    // MARK: Waiting and paused

    @Test(arguments: [
        (WaitReason.retry, "waiting for 12s, after 3 attempts; tried again at "),
        (.network, "waiting 12s for the network, after 3 attempts; tried again when it is back, at the latest at "),
        (.disk, "waiting 12s for the disk, after 3 attempts; tried again when it is back, at the latest at "),
        (.schedule, "waiting 12s for its time, after 3 attempts; starts at "),
    ])
    func waitingSaysForWhatAndHowLong(_ reason: WaitReason, _ text: String) {
        let view = view(.waiting) {
            ($0.reason, $0.nextAttemptAt, $0.attempts) = (reason, inTwentySeconds, 3)
        }
        let said = lines(view)
        #expect(said[1] == "Now:  \(text)\(time(inTwentySeconds)) (in 20s). 1.0 MiB of 4.0 MiB (25%) is here.")
        #expect(said[2] == "Why:  network.connect: connection refused")
        #expect(said[3].hasPrefix("Do:   ") && said.last == "File: /home/u/f.iso (when it is complete)")
    }

    @Test func pausedNamesTheCommandThatResumes() {
        #expect(
            lines(view(.paused)) == [
                "7  f.iso", "Now:  paused for 12s with 1.0 MiB of 4.0 MiB (25%).", "Do:   To resume it:",
                "        dlctl resume 7", "File: /home/u/f.iso (when it is complete)",
            ])
    }

    // MARK: Running

    @Test func runningSaysHowFarHowFastAndHowLong() {
        #expect(
            lines(view(.running)) == [
                "7  f.iso", "Now:  running for 12s (transferring): 1.0 MiB of 4.0 MiB (25%), 244 KiB/s, 16s left.",
                "File: /home/u/f.iso (when it is complete)",
            ])
        let unknown = view(.running) { ($0.bytesExpected, $0.eta) = (-1, nil) }
        #expect(lines(unknown)[1] == "Now:  running for 12s (transferring): 1.0 MiB, 244 KiB/s.")
        let connecting = view(.running) { ($0.phase, $0.bytesReceived, $0.rate, $0.eta) = (.connecting, 0, 0, nil) }
        #expect(lines(connecting)[1] == "Now:  running for 12s (connecting).")
    }

    @Test func runningCountsConnectionsAndMirrors() {
        func part(_ number: Int, _ url: String?, active: Bool = true) -> SegmentView {
            SegmentView(
                ByteRange(ByteCount(Int64(number) * 1024), ByteCount(Int64(number) * 1024 + 1024)), received: 1,
                active: active,
                url: url)
        }
        let mirrors = view(.running) {
            $0.segments = [
                part(0, "https://a/"), part(1, "https://b/"), part(2, "https://b/"), part(3, nil, active: false),
            ]
        }
        #expect(lines(mirrors)[1].hasSuffix("16s left, 3 connections to 2 mirrors."))
        let one = view(.running) { $0.segments = [part(0, nil), part(1, nil)] }
        #expect(lines(one)[1].hasSuffix("16s left, 2 connections."))
    }

    @Test func runningNamesADiskThatDoesNotAnswer() {
        let said = lines(view(.running).with(trouble: "The disk of /mnt/x does not answer."))
        #expect(said[1].hasSuffix(". The disk of /mnt/x does not answer."))
    }

    // MARK: Ended

    @Test func completedSaysWhereTheFileIs() {
        #expect(
            lines(view(.completed)) == [
                "7  file-7.iso", "Now:  completed 12s ago: 4.8 MiB, verified by its digest.",
                "File: /home/u/file-7.iso",
            ])
        let unverified = view(.completed) { $0.verified = false }
        #expect(lines(unverified)[1].hasSuffix("4.8 MiB, not verified: no digest was given."))
    }

    @Test func failedSaysWhyWhatToDoAndWhatIsKept() {
        let failed = view(.failed) {
            ($0.attempts, $0.bytesReceived, $0.bytesExpected) = (2, 1 << 20, 4 << 20)
        }
        #expect(
            lines(failed) == [
                "7  f.iso", "Now:  failed 12s ago after 2 attempts; 1.0 MiB of 4.0 MiB (25%) is kept.",
                "Why:  http.status: 404 Not Found",
                "Do:   Check the address. If it is wrong, correct it; then try again:",
                "        dlctl update 7 --url URL", "        dlctl retry 7",
                "File: none; a retry saves it as /home/u/f.iso",
            ])
        let checksum = view(.failed) {
            ($0.attempts, $0.bytesReceived) = (1, 0)
            $0.error = TransferError(.integrityChecksum, "The SHA-256 is another.")
        }
        #expect(lines(checksum)[1] == "Now:  failed 12s ago after 1 attempt; nothing of it is kept.")
        #expect(lines(checksum).contains("        dlctl update 7 --checksum ALG:HEX"))
    }

    /// The advice to change the task has been followed.
    @Test func aFailedTaskThatWasChangedIsOnlyRetried() {
        let failed = view(.failed) { $0.error = TransferError(.destinationNotWritable, "No.") }
        let end = Sample.event(1, .taskFailed, 7)
        func advice(_ fields: [JSONValue]) -> [String]? {
            let update = Sample.event(2, .taskUpdated, 7, ["fields": .array(fields)])
            return Explanation.advice(failed, events: [end, update])?.commands
        }
        #expect(advice(["destination"]) == ["dlctl retry 7"])
        #expect(advice(["priority", "url"]) == ["dlctl retry 7"])
        #expect(advice(["priority"]) == ["dlctl update 7 -d DIR", "dlctl retry 7"])
        #expect(Explanation.advice(failed, events: [end])?.commands == ["dlctl update 7 -d DIR", "dlctl retry 7"])
    }

    @Test func theSettingThatKeepsSpaceFreeIsNamed() {
        let full = TransferError(.diskFull, "No space.", details: ["minimum": 1000])
        let waiting = view(.waiting) { ($0.reason, $0.error) = (.disk, full) }
        #expect(Explanation.advice(waiting)?.commands == ["dlctl settings minimumFreeSpace=SIZE"])
    }

    @Test func aProxyThatWantsCredentialsGetsThemInItsURL() {
        let refused = view(.failed) { $0.error = TransferError(.authRequired, "407", details: ["status": 407]) }
        #expect(Explanation.advice(refused)?.commands == ["dlctl update 7 --proxy URL", "dlctl retry 7"])
    }

    @Test func aMirrorThatDeliveredIsNamed() {
        let mirrored = view(.completed) {
            $0.spec.mirrors = ["https://cdn.example.org/f"]
            $0.spec.url = "https://example.org/gone"
        }
        #expect(
            lines(mirrored)[1]
                == "Now:  completed 12s ago: 4.8 MiB from https://cdn.example.org/f, verified by its digest.")
    }

    /// Nobody knows what a disk holds that is not there.
    @Test func whatAMissingDiskHasIsNotHere() {
        let waiting = view(.waiting) { ($0.reason, $0.error) = (.disk, TransferError(.diskIO, "It is gone.")) }
        #expect(lines(waiting)[1].hasSuffix(". 1.0 MiB of 4.0 MiB (25%) was received."))
    }

    /// The error page of a refusal has a name too, but it is not the name of the file.
    @Test func theNameOfAnErrorPageIsNotTheFiles() {
        func file(_ status: Int) -> String? {
            let view = view(.waiting) {
                $0.spec.destination?.filename = nil
                $0.response?.status = status
                $0.response?.suggestedFilename = "f.html"
            }
            return lines(view).last
        }
        #expect(file(200) == "File: /home/u/f.html (when it is complete)")
        #expect(file(503) == "File: a file in /home/u, named by the server (when it is complete)")
    }

    @Test func cancelledNamesTheCommandThatStartsItAgain() {
        let cancelled = view(.cancelled) { $0.bytesReceived = 0 }
        #expect(
            lines(cancelled) == [
                "7  f.iso", "Now:  cancelled 12s ago; nothing of it is kept.", "Do:   To start it again:",
                "        dlctl retry 7", "File: none; a retry saves it as /home/u/f.iso",
            ])
    }

    // MARK: Uploads and requests

    @Test func uploadsSayFromWhereToWhere() {
        let upload = view(.running) {
            $0.spec.kind = .upload
            $0.spec.destination = nil
            $0.spec.source = SourceFile(path: "/home/u/report.pdf")
            $0.spec.url = "https://up.example.org/"
            ($0.bytesSent, $0.bytesToSend) = (1 << 20, 2 << 20)
        }
        #expect(
            lines(upload) == [
                "7  report.pdf", "Now:  running for 12s (transferring): 1.0 MiB of 2.0 MiB (50%), 244 KiB/s, 16s left.",
                "From: /home/u/report.pdf", "To:   https://up.example.org/",
            ])
    }

    @Test func requestsSayHowToPrintTheirAnswer() {
        let data = view(.completed) {
            $0.spec.kind = .data
            ($0.file, $0.bytesReceived) = (nil, 123)
        }
        #expect(
            Array(lines(data).dropFirst()) == [
                "Now:    completed 12s ago: 123 B.", "Answer: status 200, 123 B, kept with the task. To print it:",
                "          dlctl fetch 7",
            ])
    }

    // MARK: Form

    /// The time since the newest event that started a state, not since an event within the state.
    @Test func theStateBeganWithTheNewestEventThatChangedIt() {
        func event(_ number: Int64, _ type: EventType, _ age: Double) -> EventView {
            EventView(
                EventRecord(
                    sequence: SequenceNumber(number), time: Sample.now.advanced(by: Seconds(rawValue: -age)),
                    type: type,
                    session: .shared(of: UserID(1000)), task: TaskID(7)))
        }
        let events = [event(1, .taskAdded, 90), event(2, .taskStarted, 60), event(3, .taskResponse, 30)]
        #expect(TaskSummary(view(.running), events: events, now: Sample.now).since == Sample.now.advanced(by: -60))
        #expect(TaskSummary(view(.running), events: [], now: Sample.now).since == nil)
    }

    @Test func whatEndedWithAQuestionIsNoAttempt() {
        func event(_ number: Int64, _ type: EventType, _ payload: [String: JSONValue]) -> EventView {
            EventView(
                EventRecord(
                    sequence: SequenceNumber(number), time: Sample.now, type: type,
                    session: .shared(of: UserID(1000)), task: TaskID(7), payload: JSONMembers(payload)))
        }
        let events = [
            event(1, .taskWaiting, ["reason": "decision"]), event(2, .taskDecision, ["kind": "begin"]),
            event(3, .taskWaiting, ["reason": "decision"]), event(4, .taskDecision, ["kind": "redirect"]),
            event(5, .taskWaiting, ["reason": "retry"]), event(6, .taskWaiting, ["reason": "authentication"]),
            event(7, .taskDecision, ["kind": "challenge"]),
        ]
        let failed = view(.failed) { $0.attempts = 4 }
        let told = TaskSummary(failed, events: events, now: Sample.now).render(width: nil).map(\.plain)
        #expect(told.contains { $0.contains("after 2 attempts") }, "\(told)")
    }

    /// In a terminal, sentences are broken between words, but commands are not broken.
    @Test func narrowTerminalsBreakSentencesAndNoCommands() {
        let failed = view(.failed) { $0.attempts = 2 }
        let said = lines(failed, width: 40)
        #expect(said.filter { !$0.contains("/home") }.allSatisfy { DisplayWidth.of($0) <= 40 })
        #expect(said.contains("        dlctl update 7 --url URL"))
        #expect(said.count > lines(failed).count)
        #expect(said.dropFirst().allSatisfy { $0.hasPrefix("      ") || $0.contains(":") })
    }

    @Test(arguments: TaskState.allCases)
    func everyStateIsNamedFirst(_ state: TaskState) {
        let said = lines(Sample.view(7, state))
        #expect(said[1].hasPrefix("Now:  \(state.rawValue)"))
    }
}
