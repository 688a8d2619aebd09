import Foundation
import TestSupport
import Testing
import TransferModel

@testable import dlctl

/// `dlctl browser install`, `status` and `remove` in the home of a user.
@Suite(.enabled(if: Program.path != nil, "the dlctl product is built")) struct BrowserCommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var home: String { folder.path }

    private func run(_ arguments: String...) async throws -> Program.Outcome {
        try await Program(
            ["browser"] + arguments, environment: ["HOME": home, "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"],
            folder: home
        ).finish()
    }

    private func manifest(_ path: String) throws -> JSONValue {
        JSONText.value(try Files.text("\(home)/\(path)")) ?? .null
    }

    private func files() -> [String] {
        (FileManager.default.enumerator(atPath: home)?.compactMap { $0 as? String } ?? [])
            .filter { $0.hasSuffix(".json") || $0.contains("/browser/") }.sorted()
    }

    @Test(arguments: [
        ("chromium", ".config/chromium"), ("chrome", ".config/google-chrome"),
        ("brave", ".config/BraveSoftware/Brave-Browser"), ("vivaldi", ".config/vivaldi"),
        ("edge", ".config/microsoft-edge"),
    ])
    func browsersOfTheChromiumKindAreToldOrigins(_ name: String, _ place: String) async throws {
        try folder.nested(place)
        let outcome = try await run("install", "--as", "persepolis", "--browser", name)
        #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome)")
        let host = "com.persepolis.pdmchromewrapper"
        let found = try manifest("\(place)/NativeMessagingHosts/\(host).json")
        #expect(found["name"] == .string(host) && found["type"] == "stdio")
        #expect(found["path"] == .string("\(home)/.local/share/dld/browser/\(host)"))
        #expect(found["allowed_origins"] == ["chrome-extension://legimlagjjoghkoedakdjhocbeomojao/"])
        #expect(found["allowed_extensions"] == nil)
    }

    @Test(arguments: [("firefox", ".mozilla"), ("librewolf", ".librewolf")])
    func browsersOfTheFirefoxKindAreToldExtensions(_ name: String, _ place: String) async throws {
        try folder.nested(place)
        for (host, extensions) in [
            (
                "persepolis",
                [
                    "com.persepolis.pdmchromewrapper@persepolisdm.github.io",
                    "com.persepolis.pdmchromewrapper.offline@persepolisdm.github.io",
                ]
            ), ("gopeed", ["{c5d69a8f-2ed0-46a7-afa4-b3a00dc58088}"]),
        ] as [(String, [JSONValue])] {
            #expect(try await run("install", "--as", host, "--browser", name).status == 0)
            let path = host == "gopeed" ? "com.gopeed.gopeed" : "com.persepolis.pdmchromewrapper"
            let found = try manifest("\(place)/native-messaging-hosts/\(path).json")
            #expect(found["allowed_extensions"] == .array(extensions) && found["allowed_origins"] == nil)
        }
    }

    @Test func onlyBrowsersThatAreThereAreTold() async throws {
        let none = try await run("install", "--as", "gopeed")
        #expect(none.status == 1 && none.error.contains("~/.config/chromium"), "\(none)")
        #expect(files().isEmpty)
        try folder.nested(".config/vivaldi")
        #expect(try await run("install", "--as", "gopeed").status == 0)
        #expect(
            files() == [
                ".config/vivaldi/NativeMessagingHosts/com.gopeed.gopeed.json",
                ".local/share/dld/browser/com.gopeed.gopeed",
            ])
        let origins = try manifest(".config/vivaldi/NativeMessagingHosts/com.gopeed.gopeed.json")["allowed_origins"]
        #expect(
            origins == [
                "chrome-extension://mijpgljlfcapndmchhjffkpckknofcnd/",
                "chrome-extension://dkajnckekendchdleoaenoophcobooce/",
            ])
        #expect(try await run("install", "--as", "gopeed", "--browser", "opera").status == 2)
    }

    /// A browser starts the script with arguments of its own.
    @Test func theScriptServesTheExtension() async throws {
        try folder.nested(".mozilla")
        let socket = folder.file("a daemon")
        #expect(try await run("install", "--as", "gopeed", "--socket", socket).status == 0)
        let script = "\(home)/.local/share/dld/browser/com.gopeed.gopeed"
        #expect(Files.status(script).map { $0.st_mode & 0o777 } == 0o755)
        #expect(try Files.text(script).contains(" --socket '\(socket)' browser host --as gopeed\n"))
        try Files.write(folder.file("in"), NativeMessagesTests.framed(Array(#"{"method":"ping"}"#.utf8)))
        let (status, said) = try await TestSupport.Program.run(
            ["sh", "-c", "\"$0\" manifest.json '{id}' <\"$1\" >\"$2\"", script, folder.file("in"), folder.file("out")])
        #expect(status == 0, "\(said)")
        let answer = NativeMessagesTests.framed(Array(#"{"code":0,"data":false}"#.utf8))
        #expect(try Files.read(folder.file("out")) == answer)
    }

    @Test(arguments: [#"{"path":"/opt/other"}"#, "not JSON", #"{"name":"x"}"#])
    func aManifestOfAnotherProgramIsLeftAlone(_ text: String) async throws {
        let other = try folder.nested(".mozilla/native-messaging-hosts") + "/com.gopeed.gopeed.json"
        try folder.nested(".config/chromium")
        try Files.write(other, text)
        let outcome = try await run("install", "--as", "gopeed")
        #expect(outcome.status == 1 && outcome.error.contains(other), "\(outcome)")
        #expect(try Files.text(other) == text)
        let status = JSONText.value(try await run("status", "--json").output)?["browsers"]?.arrayValue ?? []
        let states = status.filter { $0["as"] == "gopeed" }.map {
            "\($0["browser"]?.stringValue ?? "") \($0["state"]?.stringValue ?? "")"
        }
        #expect(states == ["chromium installed", "firefox foreign"])
        #expect(try await run("remove").status == 0)
        #expect(files() == [".mozilla/native-messaging-hosts/com.gopeed.gopeed.json"])
        #expect(try Files.text(other) == text)
    }

    /// The script stays as long as a manifest names it.
    @Test func removingLeavesWhatOthersNeed() async throws {
        for place in [".mozilla", ".librewolf"] { try folder.nested(place) }
        for host in ["gopeed", "persepolis"] { #expect(try await run("install", "--as", host).status == 0) }
        #expect(files().count == 6)
        #expect(try await run("remove", "--as", "gopeed", "--browser", "firefox").status == 0)
        #expect(files().count == 5)
        #expect(try await run("remove", "--as", "gopeed").status == 0)
        #expect(files().filter { $0.contains("gopeed") }.isEmpty && files().count == 3)
        #expect(try await run("install", "--as", "persepolis").status == 0)
        #expect(try await run("remove").status == 0)
        #expect(files().isEmpty)
    }
}
