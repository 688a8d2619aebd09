import Testing

/// The folders of unit tests mirror those of Sources. If a source moves, its test must move too.
@Suite struct MirrorTests {
    @Test func unitTestsLieWhereTheirSourcesDo() {
        let sources = Set(Checkout.files(below: "Sources", suffix: ".swift"))
        let folders = Set(sources.map(Self.folder))
        var count = 0
        for test in Checkout.files(below: "Tests", suffix: ".swift") {
            guard let (place, name) = Self.place(of: test),
                folders.contains(where: { "\($0)/".hasPrefix(Self.target(place)) })
            else { continue }
            // Helpers of a target's tests may have their own folder.
            #expect(folders.contains(place) || place.hasSuffix("/Support"), "\(test): there is no \(place)")
            guard let name else { continue }
            count += 1
            let homes = sources.filter { $0.hasPrefix(Self.target(place)) && $0.hasSuffix("/\(name).swift") }
            #expect(homes.isEmpty || homes.contains("\(place)/\(name).swift"), "\(test) tests \(homes.sorted())")
        }
        #expect(count > 100)
    }

    /// Returns the folder of the sources that a test belongs to, and the file's name. A helper of tests has no name.
    static func place(of test: String) -> (folder: String, name: String?)? {
        var parts = test.split(separator: "/")
        guard parts.count > 2, parts[1].hasSuffix("Tests"), let file = parts.popLast() else { return nil }
        let folder = (["Sources", parts[1].dropLast("Tests".count)] + parts[2...]).joined(separator: "/")
        let name = file.hasSuffix("Tests.swift") ? String(file.dropLast("Tests.swift".count)) : nil
        return (folder, name)
    }

    private static func folder(_ path: String) -> String {
        path.split(separator: "/").dropLast().joined(separator: "/")
    }
    private static func target(_ folder: String) -> String {
        folder.split(separator: "/").prefix(2).joined(separator: "/") + "/"
    }

    @Test func placesAreDerived() throws {
        let place = try #require(Self.place(of: "Tests/JSONRPCTests/Deep/LineFramerTests.swift"))
        #expect(place.folder == "Sources/JSONRPC/Deep" && place.name == "LineFramer")
        #expect(Self.place(of: "Tests/JSONRPCTests/EchoHandler.swift")?.name == nil)
        #expect(Self.place(of: "Tests/Support/Files.swift") == nil)
    }
}
