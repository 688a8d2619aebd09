import FoundationEssentials
import Glibc
import TransferModel

/// The file that tells a browser which program serves an extension.
struct HostManifest {
    enum Standing: Hashable {
        case absent
        case installed
        /// Another program's, with the path that it names.
        case foreign(String?)
    }

    let host: NativeHost
    let browser: HostBrowser
    /// The user's home.
    let home: String

    /// Nil if the browser has no folder: it has never run.
    init?(_ host: NativeHost, for browser: HostBrowser, home: String) {
        (self.host, self.browser, self.home) = (host, browser, home)
        guard access("\(home)/\(browser.folder)", F_OK) == 0 else { return nil }
    }

    /// Where it is.
    var path: String {
        let folder = browser.isFirefox ? "native-messaging-hosts" : "NativeMessagingHosts"
        return "\(home)/\(browser.folder)/\(folder)/\(host.name).json"
    }

    /// The program that it names: a script, because a manifest has no arguments.
    var script: String { Self.script(of: host, home: home) }

    static func script(of host: NativeHost, home: String) -> String {
        "\(home)/.local/share/dld/browser/\(host.name)"
    }

    var standing: Standing {
        guard access(path, F_OK) == 0 else { return .absent }
        let text = (try? InputFile.read(path)) ?? []
        let named = (try? JSONCoding.decode(JSONValue.self, from: text, lenient: true))?["path"]?.stringValue
        return named == script ? .installed : .foreign(named)
    }

    /// - Throws: `CommandFailure.local` if it cannot be written.
    func write() throws {
        let ids: [JSONValue] =
            browser.isFirefox
            ? host.extensions.map { .string($0) } : host.origins.map { .string("chrome-extension://\($0)/") }
        let text = JSONCoding.pretty(
            JSONValue.object([
                "name": .string(host.name), "description": "Hands downloads to dld", "path": .string(script),
                "type": "stdio", browser.isFirefox ? "allowed_extensions" : "allowed_origins": .array(ids),
            ]))
        try Self.write(text + "\n", to: path, mode: 0o644)
    }

    /// - Parameter program: the words of the command that serves the extension.
    /// - Throws: `CommandFailure.local` if it cannot be written.
    static func writeScript(of host: NativeHost, home: String, running program: [String]) throws {
        let command = program.map { $0.hasPrefix("--") ? $0 : ShellText.word($0) }.joined(separator: " ")
        // Without exec: some seconds after it has closed the pipe, a browser kills the process that it has started. That
        // is the shell, and what the browser has sent is still added.
        let text =
            "#!/bin/sh\n# Written by 'dlctl browser install'; 'dlctl browser remove' removes it.\n\(command)\nexit\n"
        try write(text, to: script(of: host, home: home), mode: 0o755)
    }

    private static func write(_ text: String, to path: String, mode: mode_t) throws {
        let folder = PathText.folder(of: path)
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure.local("\(Printable.text(folder)) cannot be created")
        }
        guard WholeFile.write(text, to: path, mode: mode) else {
            throw CommandFailure.local("\(Printable.text(path)) cannot be written: \(String(cString: strerror(errno)))")
        }
    }
}
