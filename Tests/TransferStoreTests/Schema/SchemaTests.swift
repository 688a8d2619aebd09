import CSQLite
import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct SchemaTests {
    let fixture = Fixture()

    /// The FNV-1a hash of each shipped migration. If a hash changes, existing databases differ from new ones. Write a
    /// new migration instead.
    static let shipped: [String: UInt64] = [
        "0001": 18_350_904_048_117_850_936, "0002": 13_487_994_576_302_157_533,
        "0003": 8_251_469_719_918_677_020, "0004": 14_095_388_991_997_290_675,
        "0005": 7_410_760_770_460_741_488, "0006": 13_753_915_741_637_001_020,
        "0007": 3_117_234_501_903_717_384, "0008": 8_954_397_280_442_109_211,
        "0009": 5_961_425_573_027_951_635, "0010": 12_681_510_982_740_705_815,
        "0011": 18_042_717_041_002_960_657, "0012": 1_098_959_415_624_126_469,
        "0013": 15_437_373_681_334_031_259, "0014": 3_836_998_034_314_052_008, "0015": 11_044_416_310_905_934_077,
        "0016": 2_027_111_466_790_593_638, "0018": 6_167_869_310_739_556_136,
        "0019": 12_755_049_794_730_348_735, "0020": 16_354_584_012_865_571_881,
        "0021": 15_076_111_809_672_528_711, "0022": 17_026_578_288_959_646_058,
        "0023": 8_740_487_800_092_890_805, "0024": 14_285_407_776_771_130_989,
        "0025": 14_804_210_823_494_382_626, "0026": 8_133_986_312_250_875_474,
        "0027": 17_947_521_124_878_334_419, "0028": 7_490_870_005_816_593_147,
        "0029": 2_004_238_454_606_694_547, "0031": 455_415_568_183_641_507, "0032": 4_050_194_723_361_252_064,
        "0034": 7_430_019_552_538_210_845,
        "0035": 8_096_481_389_955_381_858,
    ]

    private func fingerprint(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    @Test func shippedMigrationsNeverChange() {
        #expect(
            Dictionary(uniqueKeysWithValues: Schema.migrations.map { ($0.identifier, fingerprint($0.sql)) })
                == Self.shipped)
    }

    @Test func aNewerDatabaseIsRefusedAndLeftAsItIs() async throws {
        try fixture.open().close()
        let queue = try Connection(fixture.database, .writing)
        try queue.write { try $0.execute("INSERT INTO grdb_migrations VALUES ('9999')") }
        queue.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: fixture.database))
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("newer dld (schema 9999)") == true)
        #expect(error?.message.contains(fixture.database) == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.database)) == before)
    }

    @Test func aNewerDatabaseWhoseLogWasNotCheckpointedIsRefusedToo() async throws {
        let original = Fixture()
        let store = try original.open()
        try await store.write {
            try $0.execute("INSERT INTO grdb_migrations VALUES ('9999')")
        }
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: original.database + suffix, toPath: fixture.database + suffix)
        }
        let paths = ["", "-wal"].map { URL(fileURLWithPath: fixture.database + $0) }
        let before = try paths.map { try Data(contentsOf: $0) }
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.message.contains("schema 9999") == true)
        #expect(try paths.map { try Data(contentsOf: $0) } == before)
    }

    @Test func garbageIsRefusedAndLeftAsItIs() async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let garbage = Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 37) })
        try garbage.write(to: URL(fileURLWithPath: fixture.database))
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.code == .diskIO)
        #expect(error?.message.contains("not a readable database") == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.database)) == garbage)
    }

    @Test func aDatabaseOfAnotherProgramIsRefused() async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        let queue = try Connection(fixture.database, .writing)
        try queue.write { try $0.execute("CREATE TABLE theirs (x)") }
        queue.close()
        let error = await transferError { _ = try fixture.open() }
        #expect(error?.message.contains("another program") == true)
    }

    @Test func anEmptyFileOfAnInterruptedStartIsTaken() async throws {
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        try Data().write(to: URL(fileURLWithPath: fixture.database))
        let store = try fixture.open()
        try await store.add(newTask())
    }

    /// After all named files are moved away, the daemon can start.
    @Test func everythingThatKeepsFromAnEmptyStartIsNamed() async throws {
        let store = try fixture.open()
        try await store.add(newTask())
        store.close()
        let file = URL(fileURLWithPath: fixture.database)
        try Data(repeating: 0xa5, count: Data(contentsOf: file).count).write(to: file)
        try Data([1]).write(to: URL(fileURLWithPath: fixture.folder + "/offsets.journal"))
        let error = await transferError { _ = try fixture.open() }
        for name in ["dld.sqlite", "reserve", "offsets.journal"] {
            let path = "\(fixture.folder)/\(name)"
            #expect(error?.message.components(separatedBy: "move away").last?.contains(path) == true, "\(path)")
            #expect(rename(path, path + ".old") == 0)
        }
        try await fixture.open().add(newTask())
    }

    @Test func aFullFolderIsNamedWithWhatToDo() {
        let folder = StateFolder(path: "/state")
        let error = StoreOpening.refusal(of: folder, SQLiteError(SQLITE_FULL, "It is full."))
        #expect(error.code == .diskFull)
        #expect(error.message.contains("Free some space there and start again; nothing was changed."))
    }
}
