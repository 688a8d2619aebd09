import DaemonSetup
import Glibc
import TestSupport
import Testing
import TransferModel
import TransferStore

@testable import DaemonKit
@testable import FileKit

struct AdmissionTests {
    private let temporary: TemporaryFolder

    init() throws { temporary = try TemporaryFolder() }

    private func admit(_ specs: [TaskSpec], _ hsts: TaskHSTS? = nil) async throws -> [AdmittedTask] {
        let configuration = try ConfigurationLoader.load(
            arguments: DaemonArguments(), environment: ["HOME": temporary.path, "XDG_DOWNLOAD_DIR": temporary.path])
        let key = SessionKey.shared(of: FilesFixture.me)
        return try await Admission(
            owner: key.owner, session: SessionRecord(key: key, createdAt: Timestamp(milliseconds: 0)),
            configuration: configuration,
            files: TransferFiles(
                access: FileAccess(mode: .user), storeID: "store", stateFolder: temporary.path, pool: BlockingPool()),
            hsts: hsts
        ).admit(specs)
    }

    private func spec(_ url: String = "https://example.org/f", directory: String, name: String? = nil) -> TaskSpec {
        var spec = TaskSpec()
        spec.url = url
        spec.destination = Destination(directory: directory, filename: name)
        return spec
    }

    private func refusal(_ specs: [TaskSpec]) async -> TransferError? {
        do {
            _ = try await admit(specs)
            return nil
        } catch {
            return error as? TransferError
        }
    }

    @Test func aLargeCallIsAdmittedInOrder() async throws {
        let count = 3 * Admission.piece + 5
        let specs = (0..<count).map { index in
            spec(
                "https://h\(index % 3).example/\(index)", directory: temporary.file("d\(index % 4)"), name: "n\(index)")
        }
        let admitted = try await admit(specs)
        #expect(admitted.map(\.spec) == specs)
        #expect(admitted.map(\.host) == (0..<count).map { "https://h\($0 % 3).example:443" })
        #expect(Set(admitted.map(\.destinationDevice)).count == 1 && admitted[0].destinationDevice != nil)
        #expect(Set(Files.names(in: temporary.path)) == ["d0", "d1", "d2", "d3"])
    }

    /// The server that will be asked: what else is counted for it is counted together.
    @Test func aHostThatIsKnownForHSTSCountsAsItsServerOverHTTPS() async throws {
        let keeper = HSTSKeeper(store: try TransferStore(folder: temporary.folder("store")))
        var configuration = SessionConfiguration()
        configuration.hsts = true
        let session = SessionRecord(
            key: .shared(of: FilesFixture.me), configuration: configuration, createdAt: Timestamp(milliseconds: 0))
        let hsts = try #require(keeper.hosts(of: session))
        hsts.receive("max-age=1000", from: "a.example")
        let urls = ["http://a.example/f", "https://a.example/f", "http://b.example/f"]
        let admitted = try await admit(urls.map { spec($0, directory: temporary.file("d")) }, hsts)
        #expect(admitted.map(\.host) == ["https://a.example:443", "https://a.example:443", "http://b.example:80"])
    }

    private func upload(_ body: RequestBody) -> TaskSpec {
        var spec = TaskSpec()
        (spec.kind, spec.url, spec.body) = (.upload, "sftp://example.org/folder/", body)
        return spec
    }

    /// For a small file, both the bytes and their origin are kept.
    @Test func aBodyThatIsCopiedKeepsTheNameOfItsFile() async throws {
        try Files.write(temporary.file("letter"), "x")
        var body = RequestBody()
        body.file = temporary.file("letter")
        let task = try #require(try await admit([upload(body)]).first)
        #expect(task.spec.fileName == "letter" && task.spec.body == body)
        #expect(task.requestBody == Array("x".utf8) && task.source?.isKept == true)
    }

    @Test func aBodyWithoutANameGoesIntoNoFolder() async throws {
        var body = RequestBody()
        body.text = "x"
        var spec = upload(body)
        #expect(await refusal([spec])?.details["field"] == "tasks[0].url")
        spec.fileName = "letter"
        #expect(await refusal([spec]) == nil)
    }

    @Test func resumeDataUnderANewURLHasToBeProven() async throws {
        let part = temporary.file(PartName.make(task: TaskID(1), store: "other", wanted: "f"))
        try Files.write(part, "12345")
        let status = try #require(Files.status(part))
        let checkpoint = Checkpoint(
            offset: 5, total: 5, partPath: part, device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
        var spec = TaskSpec()
        spec.resumeData = ResumeData(
            url: "https://example.org/f", destination: Destination(path: temporary.file("f")), checkpoint: checkpoint
        ).encoded()
        #expect(try await admit([spec])[0].checkpoint == checkpoint)
        spec.url = "https://other.example/f"
        #expect(try await admit([spec])[0].checkpoint?.offset == 4)
    }

    @Test func theFirstTaskThatIsWrongIsNamed() async throws {
        var specs = Array(repeating: spec(directory: temporary.path), count: 3 * Admission.piece)
        specs[Admission.piece + 7].url = "no scheme"
        specs[2 * Admission.piece].url = ""
        #expect(await refusal(specs)?.details["field"] == .string("tasks[\(Admission.piece + 7)].url"))
    }

    @Test func nothingIsMadeForACallThatIsRefused() async throws {
        let specs = [spec(directory: temporary.file("new")), spec("http://", directory: temporary.path)]
        #expect(await refusal(specs)?.code == .badURL)
        #expect(Files.names(in: temporary.path).isEmpty)
    }

    @Test func whatStandsAtTheDestinationIsSeenInASharedFolderToo() async throws {
        _ = mkdir(temporary.file("taken"), 0o700)
        let specs = [
            spec(directory: temporary.path, name: "a"), spec(directory: temporary.path, name: "taken"),
            spec(directory: temporary.path, name: "b"),
        ]
        let refused = await refusal(specs)
        #expect(refused?.code == .destinationBadPath)
        #expect(refused?.details["field"] == "tasks[1].destination")
        #expect(refused?.message.hasPrefix("tasks[1].destination: ") == true)
    }
}
