import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit
@testable import FileKit

@Suite struct DecisionServiceTests {
    private let fixture: SupervisionFixture
    private let home: ConfigurationFixture
    private let supervision: Supervision

    init() throws {
        fixture = try SupervisionFixture()
        home = try ConfigurationFixture()
        supervision = try fixture.supervision(in: home)
    }

    private var peer: Peer { Peer(uid: fixture.key.owner, gid: 1000, pid: 1, isAdmin: false) }

    /// A task that asks about its answer is queued again and paused before its client has decided.
    private func pausedWithAQuestion(
        kind: TaskKind = .download, in folder: TemporaryFolder? = nil
    ) async throws -> (task: TaskID, decision: DecisionID) {
        var session = SessionConfiguration()
        session.asks = [.response]
        let task = try await fixture.add(hosts: ["a"], configuration: session)[0].id
        let (transitions, key) = (fixture.transitions, fixture.key)
        let decision = try await fixture.store.write { transaction in
            let record = try #require(try transaction.session(key))
            var spec = try #require(try transaction.task(task)).spec
            spec.kind = kind
            spec.destination = folder.map { Destination(directory: $0.path) }
            try transaction.setSpec(task, spec, host: "https://a:443")
            _ = try transitions.claim([task], sessions: [key: record], in: transaction)
            let head = ResponseHead(url: "http://a/f", status: 200)
            return try #require(
                try transitions.question(about: HeldAnswer(head: head), of: task, in: transaction).record)
        }
        for event in [.preempted(), .pause] as [TaskEvent] { _ = try await fixture.apply(event, to: task) }
        return (task, decision.id)
    }

    @Test(arguments: [(DecisionAction.allow, TaskState.paused), (.cancel, .cancelled)])
    func aPausedTaskTakesTheAnswer(_ action: DecisionAction, _ state: TaskState) async throws {
        let (task, decision) = try await pausedWithAQuestion()
        _ = try await supervision.services.decisions.answer(
            AnswerDecision(id: decision, action: action), by: peer)
        let found = try await fixture.store.read { (try $0.task(task), try $0.decision(of: task)) }
        #expect(found.0?.status.state == state)
        #expect(found.1?.state == .answered && found.1?.answer?.action == action)
    }

    /// Each of the calls succeeds, in whatever order they reach the store.
    @Test func theSameAnswerIsTakenTwiceAtOnce() async throws {
        let destination = Destination(path: "\(home.root)/home/f")
        for _ in 0..<30 {
            let (task, decision) = try await pausedWithAQuestion(kind: .data)
            let answer = AnswerDecision(id: decision, action: .becomeDownload, destination: destination)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<100 {
                    group.addTask { _ = try await supervision.services.decisions.answer(answer, by: peer) }
                }
                try await group.waitForAll()
            }
            let found = try await fixture.store.read { try $0.task(task) }
            #expect(found?.spec.kind == .download && found?.status.state == .paused)
        }
    }

    /// The answer is slow: it looks at the destination. What was changed and acknowledged meanwhile stays.
    @Test func aDownloadByAnswerKeepsWhatChangesMeanwhile() async throws {
        let destination = Destination(path: "\(home.root)/home/f")
        for _ in 0..<50 {
            let (task, decision) = try await pausedWithAQuestion(kind: .data)
            var change = UpdateTask(id: task)
            change.description = "mine"
            let answer = AnswerDecision(id: decision, action: .becomeDownload, destination: destination)
            try await withThrowingTaskGroup(of: Void.self) { [change] group in
                group.addTask { _ = try await supervision.services.decisions.answer(answer, by: peer) }
                group.addTask { _ = try await supervision.services.updater.update(change, by: peer) }
                try await group.waitForAll()
            }
            let spec = try await fixture.store.read { try $0.task(task) }?.spec
            #expect(spec?.kind == .download && spec?.description == "mine")
        }
    }

    /// The task needs it if the other answer was first.
    @Test func aCancellationThatLosesLeavesThePart() async throws {
        let folder = try TemporaryFolder()
        for _ in 0..<50 {
            let (task, decision) = try await pausedWithAQuestion(in: folder)
            let part = PartName.make(task: task, store: fixture.store.identifier)
            try Files.write(folder.file(part), "part")
            await withTaskGroup(of: Void.self) { group in
                for action in [DecisionAction.cancel, .allow] {
                    group.addTask {
                        _ = try? await supervision.services.decisions.answer(
                            AnswerDecision(id: decision, action: action), by: peer)
                    }
                }
            }
            let status = try #require(try await fixture.store.read { try $0.status(of: task) })
            #expect(Files.exists(folder.file(part)) == (status.state == .paused))
        }
    }

    /// A client whose answer comes too late learns why.
    @Test func aClosedQuestionSaysWhatClosedIt() async throws {
        let (_, answered) = try await pausedWithAQuestion()
        _ = try await supervision.services.decisions.answer(
            AnswerDecision(id: answered, action: .allow), by: peer)
        await #expect {
            _ = try await supervision.services.decisions.answer(
                AnswerDecision(id: answered, action: .cancel), by: peer)
        } throws: { error in
            let error = error as? TransferError
            return error?.code == .decisionGone && error?.details["closedBy"] == "answer"
                && error?.message == "Question \(answered) is closed: it was answered with allow."
        }
        await #expect {
            _ = try await supervision.services.decisions.answer(
                AnswerDecision(id: DecisionID(99), action: .cancel), by: peer)
        } throws: { ($0 as? TransferError)?.details["closedBy"] == nil }
    }

    /// What closed a question, as a client learns it whose answer comes too late.
    private func closedBy(_ decision: DecisionID) async -> JSONValue? {
        do {
            _ = try await supervision.services.decisions.answer(
                AnswerDecision(id: decision, action: .allow), by: peer)
        } catch {
            return (error as? TransferError)?.details["closedBy"]
        }
        return nil
    }

    @Test func theDeadlineClosesAQuestion() async throws {
        let (task, decision) = try await pausedWithAQuestion()
        let transitions = fixture.transitions
        _ = try await fixture.store.write { try transitions.takeDefault(of: task, in: $0) }
        #expect(await closedBy(decision) == "deadline")
    }

    /// Also if the task did not wait for the answer when it ended.
    @Test func aCancelledTaskLeavesNoQuestion() async throws {
        let (task, decision) = try await pausedWithAQuestion()
        _ = try await fixture.apply(.cancel(keepPartial: false), to: task)
        #expect(await closedBy(decision) == "end")
        #expect(try await fixture.store.read { try $0.openDecisions(owner: nil, limit: 10) }.isEmpty)
    }

    /// Its deadline closed nothing.
    @Test func anEndedTaskClosesItsQuestion() async throws {
        let (task, decision) = try await pausedWithAQuestion()
        _ = try await fixture.apply(.resume(notBefore: nil), to: task)
        try await fixture.store.write { try $0.closeDecision(of: task) }
        #expect(await closedBy(decision) == "task")
        _ = try await fixture.apply(.cancel(keepPartial: false), to: task)
        #expect(await closedBy(decision) == "end")
    }
}
