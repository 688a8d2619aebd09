import Glibc

/// Finds the profiles of browsers.
struct Profiles {
    typealias Unreadable = BrowserCookies.Unreadable

    /// The home folder.
    let home: String
    /// The folder of configurations (XDG base directory specification). Snaps and flatpaks have their own.
    let configuration: String

    /// - Parameter environment: `HOME` and `XDG_CONFIG_HOME` count; a relative path in the latter does not.
    init(_ environment: [String: String]) {
        home = environment["HOME"] ?? ""
        let named = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        configuration = named ?? home + "/.config"
    }

    /// The folder of a profile. Without a name, it is the profile that the installed Firefox starts with, or else the
    /// one marked as default in profiles.ini, or else the first.
    func firefox(_ profile: String?) throws(Unreadable) -> String {
        if let profile, profile.utf8.contains(UInt8(ascii: "/")) { return profile }
        let roots = firefoxFolders
        guard
            let (root, text) = roots.lazy.compactMap({ root in
                Self.text(of: root + "/profiles.ini").map { (root, $0) }
            }).first
        else { throw Unreadable(why: "\(roots[0])/profiles.ini cannot be read: is there a profile of Firefox?") }
        let sections = Self.sections(text)
        let profiles = sections.filter { $0.name.hasPrefix("Profile") }
        let path: String? =
            if let profile {
                profiles.first { $0.values["Name"] == profile }?.values["Path"]
            } else {
                sections.first { $0.name.hasPrefix("Install") }?.values["Default"]
                    ?? (profiles.first { $0.values["Default"] == "1" } ?? profiles.first)?.values["Path"]
            }
        guard let path else {
            let names = profiles.compactMap { $0.values["Name"] }.joined(separator: ", ")
            throw Unreadable(why: "Firefox has no such profile; there are: \(names)")
        }
        return path.hasPrefix("/") ? path : root + "/" + path
    }

    /// Where Firefox keeps its profiles: by itself, since version 147, as a snap, and as a flatpak.
    private var firefoxFolders: [String] {
        [
            "\(home)/.mozilla/firefox", "\(configuration)/mozilla/firefox",
            "\(home)/snap/firefox/common/.mozilla/firefox", "\(home)/.var/app/org.mozilla.firefox/.mozilla/firefox",
            "\(home)/.var/app/org.mozilla.firefox/config/mozilla/firefox",
        ]
    }

    /// Where Chromium keeps its profiles: by itself, as a snap, and as a flatpak.
    private var chromiumFolders: [String] {
        [
            "\(configuration)/chromium", "\(home)/snap/chromium/common/chromium",
            "\(home)/.var/app/org.chromium.Chromium/config/chromium",
        ]
    }

    /// The database of a profile; of `Default` without a name.
    func chromium(_ profile: String?) throws(Unreadable) -> String {
        let name = profile ?? "Default"
        let folders = name.utf8.contains(UInt8(ascii: "/")) ? [name] : chromiumFolders.map { "\($0)/\(name)" }
        for file in folders.flatMap({ ["\($0)/Network/Cookies", "\($0)/Cookies"] }) where access(file, F_OK) == 0 {
            return file
        }
        throw Unreadable(why: "\(folders[0]) has no file Cookies: is there a profile of Chromium?")
    }

    private static func sections(_ text: String) -> [(name: String, values: [String: String])] {
        var sections: [(name: String, values: [String: String])] = []
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("["), line.hasSuffix("]") {
                sections.append((String(line.dropFirst().dropLast()), [:]))
            } else if let equals = line.firstIndex(of: "="), !sections.isEmpty {
                sections[sections.count - 1].values[String(line[..<equals])] = String(
                    line[line.index(after: equals)...])
            }
        }
        return sections
    }

    private static func text(of path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(file, &bytes, bytes.count)
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
