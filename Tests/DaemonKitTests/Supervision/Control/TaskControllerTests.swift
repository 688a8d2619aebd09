import CLinux
import CurlEngine
import Foundation
import Logging
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit
@testable import FileKit

@Suite struct TaskControllerTests {
    private let fixture: SupervisionFixture
    private let home: ConfigurationFixture
    private let supervision: Supervision

    init() throws {
        fixture = try SupervisionFixture()
        home = try ConfigurationFixture()
        supervision = try fixture.supervision(in: home)
    }

    private var target: ControlTarget {
        ControlTarget(scope: .session(fixture.key.identifier), owner: .user(fixture.key.owner))
    }

    /// While many tasks are removed, each transaction is durable by itself, and others can write before the next one.
    @Test func othersWriteBetweenTwoBatches() async throws {
        let (store, key) = (fixture.store, fixture.key)
        _ = try await fixture.add(hosts: Array(repeating: "h", count: 700))
        #expect(
            try await supervision.services.controller.control(.cancel(keepPartial: false), target).changed.count == 700)
        let meanwhile = Guarded<Task<Int, any Error>?>(nil)
        store.onCommit { events in
            guard events.contains(where: { $0.type == .taskRemoved }) else { return }
            let isFirst = meanwhile.withLock { task in
                guard task == nil else { return false }
                task = Task {
                    // A reader sees the last commit.
                    let left = try await store.read { try $0.counts(session: key)[.cancelled] ?? 0 }
                    let now = Timestamp.now()
                    try await store.write {
                        _ = try $0.append(EventRecord(time: now, type: .settingsChanged, session: key))
                    }
                    return left
                }
                return true
            }
            // Only then does the caller that waits for this commit continue.
            for _ in 0..<10_000 where isFirst && store.queuedWrites == 0 { usleep(1000) }
        }
        let removed = try await supervision.services.controller.control(.remove(deleteFile: false), target)
        #expect(removed.changed.count == 700)
        let left = try await meanwhile.withLock { $0 }?.value ?? 0
        #expect((1..<700).contains(left))
        let types = try await store.read { try $0.events(EventQuery(limit: 10_000)) }.map(\.type)
        let own = try #require(types.firstIndex(of: .settingsChanged))
        #expect(types[..<own].count { $0 == .taskRemoved } == 700 - left)
        #expect(types[own...].count { $0 == .taskRemoved } == left)
    }

    /// Bytes from which nobody could resume are not kept: a daemon that died may have left them without a record.
    @Test(arguments: [false, true])
    func cancellingManyLeavesNoPartsButThoseToGoOnFrom(keepPartial: Bool) async throws {
        let folder = try TemporaryFolder()
        let tasks = try await fixture.add(hosts: Array(repeating: "h", count: 300))
        let (transitions, store) = (fixture.transitions, fixture.store)
        // The second task was at work once, and the third one brought its bytes along.
        let parts = [tasks[1], tasks[2]].map { folder.file(PartName.make(task: $0.id, store: store.identifier)) }
        for part in parts { try Data([1]).write(to: URL(fileURLWithPath: part)) }
        try await store.write { transaction in
            for task in tasks[1...2] {
                var spec = task.spec
                spec.destination = Destination(directory: folder.path)
                try transaction.setSpec(task.id, spec, host: task.host)
            }
            _ = try transitions.apply(.claimed, to: tasks[1].id, in: transaction)
            _ = try transitions.apply(.preempted(), to: tasks[1].id, in: transaction)
            try transaction.setCheckpoint(
                tasks[2].id, Checkpoint(offset: 1, partPath: parts[1], device: 1, inode: 2))
        }
        let outcome = try await supervision.services.controller.control(.cancel(keepPartial: keepPartial), target)
        #expect(outcome.changed == tasks.map(\.id))
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).map(folder.file)
        #expect(left == (keepPartial ? [parts[1]] : []))
        let heads = try await store.read { try $0.heads(tasks.map(\.id)) }
        #expect(heads.allSatisfy { $0.status.state == .cancelled })
        #expect(heads.filter(\.hasCheckpoint).map(\.id) == (keepPartial ? [tasks[2].id] : []))
        let events = try await store.read { try $0.events(EventQuery(limit: 10_000)) }
        #expect(events.count { $0.type == .taskCancelled } == 300)
        #expect(events.last?.type == .sessionDrained)
        #expect(events.count { $0.type == .sessionDrained } == 1)
    }

    @Test func removingDeletesFilesOnRequestOnly() async throws {
        let folder = try TemporaryFolder()
        let tasks = try await fixture.add(hosts: ["a", "b"])
        let (transitions, store) = (fixture.transitions, fixture.store)
        for (task, name) in zip(tasks, ["a", "b"]) {
            let file = folder.file(name)
            try Data([1]).write(to: URL(fileURLWithPath: file))
            try await store.write { transaction in
                let record = try transitions.claim([task.id], sessions: [:], in: transaction)[0]
                let status = try #require(Files.status(file))
                let changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
                let mark = FileMark(inode: UInt64(status.st_ino), changed: changed)
                let result = TaskResult(file: file, bytes: 1, verified: true, mark: mark)
                _ = try transitions.complete(
                    [CompletedRun(record: record, result: result, duration: 1)], in: transaction)
            }
        }
        for (task, deletes) in zip(tasks, [false, true]) {
            let target = ControlTarget(scope: .ids([task.id]), owner: .everyone)
            let outcome = try await supervision.services.controller.control(.remove(deleteFile: deletes), target)
            #expect(outcome.changed == [task.id])
            #expect(outcome.files == (deletes ? [RemovedFile(id: task.id, fate: .deleted)] : nil))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a"])
    }

    /// Inode numbers are reused: the next file of that name may have the same number and the same content.
    @Test(arguments: [0, -1] as [Int64])
    func removingLeavesAFileThatWasMadeAfterTheDelivery(difference: Int64) async throws {
        let folder = try TemporaryFolder()
        let task = try await fixture.add(hosts: ["a"])[0]
        let path = folder.file("a")
        try Data([1]).write(to: URL(fileURLWithPath: path))
        let file = try #require(FileHandle(forReadingAtPath: path))
        let birth = dld_birth_nanoseconds(file.fileDescriptor)
        try #require(birth > 0)
        let mark = FileMark(
            inode: UInt64(try #require(Files.status(path)).st_ino), changed: birth + difference,
            checksum: dld_crc32c(0, [1] as [UInt8], 1))
        // Its change time is not a recorded one.
        #expect(chmod(path, 0o600) == 0)
        let result = TaskResult(file: path, bytes: 1, verified: false, mark: mark)
        let transitions = fixture.transitions
        try await fixture.store.write { transaction in
            let record = try transitions.claim([task.id], sessions: [:], in: transaction)[0]
            _ = try transitions.complete([CompletedRun(record: record, result: result, duration: 1)], in: transaction)
        }
        let target = ControlTarget(scope: .ids([task.id]), owner: .everyone)
        let removed = try await supervision.services.controller.control(.remove(deleteFile: true), target).files
        #expect(removed?.first?.fate == (difference < 0 ? .kept : .deleted))
        #expect(Files.names(in: folder.path) == (difference < 0 ? ["a"] : []))
    }

    // MARK: Sending again

    /// A cancelled data task with the body of a file that is short enough to be kept.
    private func cancelled(_ path: String) async throws -> TaskID {
        var spec = TaskSpec()
        spec.kind = .data
        spec.url = "https://example.org/"
        spec.method = "POST"
        spec.startPaused = true
        spec.body = RequestBody()
        spec.body?.file = path
        let peer = Peer(uid: fixture.key.owner, gid: 1000, pid: 1, isAdmin: false)
        let id = try await supervision.services.adder.add([spec], session: nil, by: peer)[0].id
        _ = try await fixture.apply(.cancel(keepPartial: false), to: id)
        return id
    }

    private func resend(_ id: TaskID) async throws -> ControlResult {
        try await supervision.services.controller.control(
            .resend, ControlTarget(scope: .ids([id]), owner: .user(fixture.key.owner)))
    }

    @Test func aKeptBodyIsCopiedAgain() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("body")
        try Files.write(path, Array("old".utf8))
        let id = try await cancelled(path)
        // As long as before.
        try Files.write(path, Array("new".utf8))
        #expect(try await resend(id).changed == [id])
        #expect(try await fixture.store.read { try $0.body(of: id, .request) } == Array("new".utf8))
        #expect(try await fixture.store.read { try $0.task(id)?.source } == .kept(3))

        _ = try await fixture.apply(.cancel(keepPartial: false), to: id)
        let long = [UInt8](repeating: 1, count: Int(Admission.copiedBody.rawValue) + 1)
        try Files.write(path, long)
        #expect(try await resend(id).changed == [id])
        #expect(try await fixture.store.read { try $0.body(of: id, .request) } == nil)
        let source = try await fixture.store.read { try $0.task(id)?.source }
        #expect(source?.isKept == false && source?.size == ByteCount(Int64(long.count)))
    }

    @Test func aKeptBodyWhoseFileIsGoneIsNotSentAgain() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("body")
        try Files.write(path, Array("old".utf8))
        let id = try await cancelled(path)
        unlink(path)
        #expect(try await resend(id).skipped == [.init(id: id, code: .sourceUnreadable)])
    }
}
