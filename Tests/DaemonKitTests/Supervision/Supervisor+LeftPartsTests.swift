import Glibc
import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

@testable import DaemonKit

/// Tasks that are given up while their disk is away.
@Suite struct SupervisorLeftPartsTests {
    private let fixture: SupervisionFixture
    private let supervisor: Supervisor
    private let place: TemporaryFolder

    init() throws {
        fixture = try SupervisionFixture()
        supervisor = try fixture.supervisor(in: try ConfigurationFixture())
        place = try TemporaryFolder()
    }

    /// A task that was at work in `place`, as if its folder had been on the file system `device` then.
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

    private func control(_ action: TaskAction, _ task: TaskRecord) async throws -> ControlOutcome {
        try await supervisor.control(action, ControlTarget(scope: .ids([task.id]), owner: .everyone))
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
        // Whatever lies there meanwhile is looked at, and the part is still missing.
        await supervisor.sweepLeftParts()
        #expect(try await known().contains(partName(task)))
        try Files.write(place.file(partName(task)), "part")
        try Files.write(place.file("other"), "other")
        await supervisor.sweepLeftParts()
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

    /// It has the name of the one that was left.
    @Test func theTaskThatIsTriedAgainKeepsItsPart() async throws {
        let task = try await attempted(on: device &+ 1)
        _ = try await control(.cancel(keepPartial: false), task)
        _ = try await control(.retry, task)
        try Files.write(place.file(partName(task)), "part")
        await supervisor.sweepLeftParts()
        #expect(Files.names(in: place.path) == [partName(task)])
        #expect(try await known().isEmpty)
    }

    @Test func whatNeverComesBackIsForgottenAfterAYear() async throws {
        let task = try await attempted(on: device &+ 1)
        _ = try await control(.cancel(keepPartial: false), task)
        fixture.time.advance(Seconds(364 * 86400))
        await supervisor.sweepLeftParts()
        #expect(try await !known().isEmpty)
        fixture.time.advance(Seconds(2 * 86400))
        await supervisor.sweepLeftParts()
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
        // Nothing else is mounted while this test looks, mostly.
        #expect(
            await eventually {
                await supervisor.sweepLeftParts()
                return !supervisor.isSweepDue(at: boot + 1_000_000)
            })
        #expect(mount(disk.path, place.path, nil, UInt(MS_BIND), nil) == 0)
        defer { umount2(place.path, Int32(MNT_DETACH)) }
        #expect(supervisor.isSweepDue(at: boot))
        await supervisor.sweepLeftParts()
        #expect(Files.names(in: disk.path).isEmpty)
        #expect(try await known().isEmpty)
    }

    /// The request is answered, and the daemon remembers.
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
