import Foundation
import Testing

/// Fails if an arrow of the architecture is wrong.
@Suite struct LayerTests {
    struct Target {
        let layer: Int
        let name: String
        let mayImport: Set<String>
    }

    private static func table() throws -> [Target] {
        try Checkout.text("Tests/HouseTests/layers.txt").split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard let first = words.first, let layer = Int(first), words.count >= 2 else { return nil }
            return Target(layer: layer, name: words[1], mayImport: Set(words.dropFirst(2)))
        }
    }

    /// Returns the modules that a file imports.
    static func imports(in text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            var words = line.split(separator: " ")
            while let first = words.first, first.hasPrefix("@") || accessLevels.contains(first) { words.removeFirst() }
            guard words.first == "import", words.count >= 2 else { return nil }
            let named = words.count >= 3 && kinds.contains(words[1]) ? words[2] : words[1]
            return named.split(separator: ".").first.map(String.init)
        }
    }

    private static let accessLevels: Set<Substring> = ["public", "package", "internal", "private", "fileprivate"]
    private static let kinds: Set<Substring> = [
        "struct", "enum", "class", "protocol", "func", "var", "let", "typealias",
    ]

    @Test func everyImportIsAnArrowOfTheTable() throws {
        for target in try Self.table() {
            for file in Checkout.files(below: "Sources/\(target.name)", suffix: ".swift") {
                for module in Self.imports(in: try Checkout.text(file)) {
                    #expect(target.mayImport.contains(module), "\(file) must not import \(module)")
                }
            }
        }
    }

    @Test func arrowsPointStrictlyDown() throws {
        let table = try Self.table()
        let layers = Dictionary(uniqueKeysWithValues: table.map { ($0.name, $0.layer) })
        for target in table {
            for module in target.mayImport {
                guard let layer = layers[module] else { continue }
                #expect(layer < target.layer, "\(target.name) (layer \(target.layer)) imports \(module) (\(layer))")
            }
        }
    }

    @Test func everyTargetIsInTheTable() throws {
        let named = Set(try Self.table().map(\.name))
        let present = Set(
            Checkout.files(below: "Sources", suffix: ".swift").compactMap { $0.split(separator: "/").dropFirst().first }
        )
        #expect(
            present.map(String.init).allSatisfy(named.contains),
            "\(present.map(String.init).filter { !named.contains($0) })")
    }

    /// Only one target imports each of these libraries, so that it can be replaced there.
    @Test(arguments: [
        ("CSQLite", ["BrowserCookies", "TransferStore"]), ("CCurl", ["CurlEngine"]),
        ("NIOPosix", ["JSONRPC", "dld-web"]),
        ("CYAML", ["DaemonSetup"]), ("CSystemd", ["SystemBus"]),
        ("CCrypto", ["BrowserCookies", "FileKit", "dld-web"]), ("CExpat", ["Metalink"]), ("CPSL", ["TransferCore"]),
        ("CIDN", ["TransferCore"]),
        ("FleetDatabase", ["dld-fleet"]), ("ArgumentParser", ["dlctl", "dld", "dld-fleet", "dld-web"]),
    ])
    func aLibraryIsKnownToItsTargetAlone(library: String, targets: [String]) throws {
        #expect(try Self.table().filter { $0.mayImport.contains(library) }.map(\.name).sorted() == targets)
    }

    @Test(arguments: [
        ("import A", ["A"]), ("@testable import B\nimport C", ["B", "C"]), ("package import D", ["D"]),
        ("import struct E.F", ["E"]), ("// import G", []), ("    let important = 1", []),
        ("@preconcurrency import H.I", ["H"]),
    ])
    func importsAreRead(text: String, modules: [String]) {
        #expect(Self.imports(in: text) == modules)
    }
}
