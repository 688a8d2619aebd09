import Glibc
import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit
@testable import FileKit

/// Tasks that are given up while their disk is unavailable.
@Suite struct LeftPartsTests {
    private let fixture: SupervisionFixture
    private let supervision: Supervision
    private let place: TemporaryFolder

    init() throws {
        fixture = try SupervisionFixture()
        supervision = try fixture.supervision(in: try ConfigurationFixture())
        place = try TemporaryFolder()
    }

    /// A task that was at work in `place` when its folder was on the file system `device`.
    private func attempted(on device: UInt64, in folder: String? = nil) async throws -> TaskRecord {
        let (key, now, transitions) = (fixture.key, fixture.time.reading(), fixture.transitions)
        var spec = TaskSpec()
        spec.url = "https://h/f"
        spec.destination = Destination(directory: folder ?? place.path)
        let (status, _) = TaskMachine.added(startPaused: false, earliestBeginAt: nil, at: now)
        var new = NewTask(session: key, spec: spec, status: status, host: "https://h:443")
        new.destinationDevice = device
        return try await fixture.store.write { [new] transaction in
            if try transaction.session(key) == nil {
                try transaction.insertSession(SessionRecord(key: key, createdAt: now.wall))
            }
            let id = try transaction.insert(new).id
            _ = try transitions.apply(.claimed, to: id, in: transaction)
            _ = try transitions.apply(.preempted(), to: id, in: transaction)
            return try #require(try transaction.task(id))
        }
    }

    private func partName(_ task: TaskRecord) -> String {
        PartName.make(task: task.id, store: fixture.store.identifier)
    }

    private func control(_ action: TaskAction, _ task: TaskRecord) async throws -> ControlResult {
        try await supervision.services.controller.control(
            action, ControlTarget(scope: .ids([task.id]), owner: .everyone))
    }

    private func known() async throws -> Set<String> {
        Set(try await fixture.store.read { try $0.leftParts(limit: 100) }.map(\.name))
    }

    private var device: UInt64 { Files.status(place.path).map { UInt64($0.st_dev) } ?? 0 }

    @Test(arguments: [false, true])
    func aPartOnADiskThatIsAwayGoesWhenItIsBack(isRemoved: Bool) async throws {
        let task = try await attempted(on: device &+ 1)
        #expect(try await control(.cancel(keepPartial: false), task).changed == [task.id])
        #expect(try await known().contains(partName(task)))
        if isRemoved { #expect(try await control(.remove(deleteFile: false), task).changed == [task.id]) }
        // Whatever is there meanwhile is examined, and the part file is still missing.
        await supervision.leftParts.sweep()
        #expect(try await known().contains(partName(task)))
        try Files.write(place.file(partName(task)), "part")
        try Files.write(place.file("other"), "other")
        await supervision.leftParts.sweep()
        #expect(Files.names(in: place.path) == ["other"])
        #expect(try await !known().contains(partName(task)))
    }

    @Test func aPartThatIsThereGoesAtOnceAndIsNotRemembered() async throws {
        let task = try await attempted(on: device)
        try Files.write(place.file(partName(task)), "part")
        _ = try await control(.cancel(keepPartial: false), task)
        #expect(Files.names(in: place.path).isEmpty)
        #expect(try await known().isEmpty)
    }

    /// A daemon that dies before it has removed the part file leaves it to the next one.
    @Test(arguments: [false, true])
    func thePartOfATaskThatFailedIsNotedWithTheFailure(isKilled: Bool) async throws {
        let task = try await attempted(on: device)
        try Files.write(place.file(partName(task)), "part")
        let failure = TaskEvent.integrityFailed(TransferError(.integrityChecksum, "It is another file."))
        var record = task
        for event in [.claimed, failure, .claimed, failure] {
            #expect(try await known().isEmpty)
            record = try await fixture.apply(event, to: task.id).record
        }
        #expect(record.status.state == .failed)
        #expect(try await known().contains(partName(task)))
        if isKilled { await supervision.leftParts.sweep() } else { await supervision.leftParts.discard(record) }
        #expect(Files.names(in: place.path).isEmpty)
        #expect(try await known().isEmpty)
    }

    /// It was created by an attempt that died before the store knew of it.
    @Test(arguments: [TaskEvent.deadlinePassed, .resourceTimeoutPassed])
    func aPartThatNobodyRecordedGoesWithTheDeadline(event: TaskEvent) async throws {
        let task = try await attempted(on: device)
        try Files.write(place.file(partName(task)), "part")
        #expect(try await fixture.apply(event, to: task.id).discardsPart)
        #expect(try await known().contains(partName(task)))
        await supervision.leftParts.sweep()
        #expect(Files.names(in: place.path).isEmpty)
        #expect(try await known().isEmpty)
    }

    /// It was tried again while a client removed it.
    @Test func aTaskThatRunsIsNotRemovedAndKeepsItsPart() async throws {
        let task = try await attempted(on: device)
        _ = try await fixture.apply(.cancel(keepPartial: true), to: task.id)
        try Files.write(place.file(partName(task)), "part")
        let runs = supervision.runs
        #expect(runs.claims.enter([task.id]) == [task.id])
        let removal = Task { try await control(.remove(deleteFile: false), task) }
        for event in [.retry, .claimed] as [TaskEvent] { _ = try await fixture.apply(event, to: task.id) }
        runs.claims.leave([task.id])
        #expect(try await removal.value.changed.isEmpty)
        #expect(Files.names(in: place.path) == [partName(task)])
    }

    /// Its part file has the name of the one that was left.
    @Test func theTaskThatIsTriedAgainKeepsItsPart() async throws {
        let task = try await attempted(on: device &+ 1)
        _ = try await control(.cancel(keepPartial: false), task)
        _ = try await control(.retry, task)
        try Files.write(place.file(partName(task)), "part")
        await supervision.leftParts.sweep()
        #expect(Files.names(in: place.path) == [partName(task)])
        #expect(try await known().isEmpty)
    }

    /// Changes its destination to `other`.
    private func move(_ task: TaskRecord, to other: TemporaryFolder) async throws {
        var parameters = UpdateTask(id: task.id)
        parameters.destination = Destination(directory: other.path)
        _ = try await supervision.services.updater.update(
            parameters, by: Peer(uid: fixture.key.owner, gid: 0, pid: 0, isAdmin: true))
    }

    /// A part file's earlier name is removed when it appears, whatever the task does. Its current name is not.
    @Test func aNameThatATaskHadBeforeGoesWhenItsDiskIsBack() async throws {
        let task = try await attempted(on: device &+ 1)
        let other = try TemporaryFolder()
        try await move(task, to: other)
        #expect(try await known().contains(partName(task)))
        try Files.write(place.file(partName(task)), "old")
        try Files.write(other.file(partName(task)), "new")
        await supervision.leftParts.sweep()
        #expect(Files.names(in: place.path).isEmpty)
        #expect(Files.names(in: other.path) == [partName(task)])
        #expect(try await !known().contains(partName(task)))
    }

    /// It was there, moved elsewhere, and is there again.
    @Test func aNameThatATaskHasAgainIsItsOwn() async throws {
        let task = try await attempted(on: device &+ 1)
        let other = try TemporaryFolder()
        try await move(task, to: other)
        try await move(task, to: place)
        try Files.write(place.file(partName(task)), "again")
        await supervision.leftParts.sweep()
        #expect(Files.names(in: place.path) == [partName(task)])
        #expect(try await known().isEmpty)
    }

    @Test func whatNeverComesBackIsForgottenAfterAYear() async throws {
        let task = try await attempted(on: device &+ 1)
        _ = try await control(.cancel(keepPartial: false), task)
        fixture.time.advance(Seconds(364 * 86400))
        await supervision.leftParts.sweep()
        #expect(try await !known().isEmpty)
        fixture.time.advance(Seconds(2 * 86400))
        await supervision.leftParts.sweep()
        #expect(try await known().isEmpty)
    }

    /// A look that found nothing is not repeated before something is mounted.
    @Test(.enabled(if: Requirements.mayAdministrate, "mounts need root"))
    func aDiskThatIsMountedIsLookedAt() async throws {
        let disk = try SmallDisk(size: "1m")
        let mine = try #require(Files.status(disk.path).map { UInt64($0.st_dev) })
        let task = try await attempted(on: mine)
        try Files.write(disk.path + "/" + partName(task), "part")
        _ = try await control(.cancel(keepPartial: false), task)
        #expect(try await known().contains(partName(task)))
        let boot = fixture.time.reading().boot
        // Usually, nothing else is mounted during this test.
        #expect(
            await eventually {
                await supervision.leftParts.sweep()
                return !supervision.leftParts.isSweepDue(at: boot + 1_000_000)
            })
        #expect(mount(disk.path, place.path, nil, UInt(MS_BIND), nil) == 0)
        defer { umount2(place.path, Int32(MNT_DETACH)) }
        #expect(supervision.leftParts.isSweepDue(at: boot))
        await supervision.leftParts.sweep()
        #expect(Files.names(in: disk.path).isEmpty)
        #expect(try await known().isEmpty)
    }

    /// A disk that fails may remove the part file the next time.
    @Test(.enabled(if: Requirements.mayAdministrate, "mounts need root"))
    func aDiskThatFailedIsLookedAtAgain() async throws {
        let disk = try SmallDisk(size: "1m")
        let mine = try #require(Files.status(disk.path).map { UInt64($0.st_dev) })
        let task = try await attempted(on: mine, in: disk.path)
        try Files.write(disk.path + "/" + partName(task), "part")
        #expect(mount(nil, disk.path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
        _ = try await control(.cancel(keepPartial: false), task)
        await supervision.leftParts.sweep()
        #expect(try await known() == [partName(task)])
        #expect(supervision.leftParts.isSweepDue(at: fixture.time.reading().boot + 60_000))
        #expect(mount(nil, disk.path, nil, UInt(MS_REMOUNT), nil) == 0)
        await supervision.leftParts.sweep()
        #expect(Files.names(in: disk.path).isEmpty)
        #expect(try await known().isEmpty)
    }

    /// Its task was cancelled for resume data, and had no byte yet.
    @Test func whatResumeDataLeavesIsLookedForSoon() async throws {
        let task = try await attempted(on: device &+ 1)
        await supervision.leftParts.sweep()
        _ = try await supervision.services.updater.resumeData(
            task.id, by: Peer(uid: fixture.key.owner, gid: 0, pid: 0, isAdmin: true))
        #expect(try await known().contains(partName(task)))
        #expect(supervision.leftParts.isSweepDue(at: fixture.time.reading().boot + 60_000))
    }

    /// The first task's part file is on a disk that does not answer; the second one's is not.
    @Test(.enabled(if: HungDisk.isPossible, "needs FUSE and root"), .timeLimit(.minutes(3)))
    func aPartOnADiskThatHangsKeepsNoOtherFromMoving() async throws {
        let hung = try HungDisk()
        let first = try await attempted(on: 4711)
        let second = try await attempted(on: device)
        for (task, folder) in [(first, hung.path), (second, place.path)] {
            let name = partName(task)
            if task.id == second.id { try Files.write(place.file(name), "part") }
            let status = Files.status(place.file(name))
            let part = Checkpoint(
                offset: 4, partPath: "\(folder)/\(name)", device: status.map { UInt64($0.st_dev) } ?? 4711,
                inode: status.map { UInt64($0.st_ino) } ?? 1)
            try await fixture.store.write { try $0.setCheckpoint(task.id, part) }
        }
        let other = try TemporaryFolder()
        // As a new daemon finds it: both moves are requested, and neither is done.
        for task in [first, second] {
            let (now, key) = (fixture.time.reading().wall, fixture.key)
            try await fixture.store.write { [spec = task.spec] transaction in
                guard let held = try transaction.task(task.id)?.checkpoint else { return }
                var spec = spec
                spec.destination = Destination(directory: other.path)
                try transaction.setSpec(task.id, spec, host: task.host)
                try transaction.note([
                    LeftPart(
                        owner: key.owner, folder: TransferFiles.folder(of: held.partPath),
                        name: TransferFiles.lastComponent(held.partPath), task: task.id, device: held.device,
                        inode: held.inode, recordedAt: now)
                ])
                try transaction.setDestinationDevice(task.id, nil)
            }
        }
        // On a busy machine, a sweep may give up waiting for the second one too. The next one finds its name removed.
        #expect(
            try await eventually {
                await supervision.leftParts.sweep()
                return try await known() == [partName(first)]
            })
        #expect(Files.names(in: other.path) == [partName(second)])
        // It still waits for the first one, but is not delayed by it again.
        await supervision.leftParts.sweep()
        #expect(try await known() == [partName(first)])
        withExtendedLifetime(hung) {}
    }

    /// The request is answered, and the daemon remembers the part file.
    @Test(.enabled(if: HungDisk.isPossible, "needs FUSE and root"), .timeLimit(.minutes(1)))
    func aDiskThatHangsKeepsNobodyFromCancelling() async throws {
        let hung = try HungDisk()
        let task = try await attempted(on: 4711, in: hung.path)
        #expect(try await control(.cancel(keepPartial: false), task).changed == [task.id])
        #expect(try await known().contains(partName(task)))
        let next = try await attempted(on: device)
        #expect(try await control(.cancel(keepPartial: false), next).changed == [next.id])
        withExtendedLifetime(hung) {}
    }
}
