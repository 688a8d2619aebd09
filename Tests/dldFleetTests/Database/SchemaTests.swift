import FoundationEssentials
import Testing

@testable import dld_fleet

@Suite struct SchemaTests {
    /// C ≤ P ≤ V, where P is what this program knows.
    @Test(arguments: [(0, 0, false), (1, 1, true), (2, 1, true), (2, 2, false), (9, 0, true)])
    func versionsFitOrNot(_ version: Int, _ compatibleFrom: Int, _ fits: Bool) {
        let misfit = Schema(version: version, compatibleFrom: compatibleFrom).misfit
        #expect((misfit == nil) == fits)
        #expect(misfit?.contains("version \(version)") ?? true && misfit?.contains("version \(Schema.known)") ?? true)
    }

    /// Each step has its files, and roles come first.
    @Test func theFilesAreInTheProgram() throws {
        for step in 1...Schema.known {
            let files = SchemaFile.files(of: step)
            #expect(files.first?.name == "roles.sql" && files.count > 1)
            #expect(files.allSatisfy { $0.text.contains("\n") })
        }
        #expect(SchemaFile.files(of: Schema.known + 1).count == 1)
    }

    @Test func everyFileIsListed() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../Sources/FleetDatabase/sql")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".sql") }
        #expect(names.sorted() == SchemaFile.all.map(\.name).sorted())
    }
}
