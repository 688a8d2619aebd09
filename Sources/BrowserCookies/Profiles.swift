import Glibc

/// Finds the profiles of browsers.
enum Profiles {
    typealias Unreadable = BrowserCookies.Unreadable

    /// The folder of a profile. Without a name, it is the profile that the installed Firefox starts with, or else the
    /// one marked as default in profiles.ini, or else the first.
    static func firefox(_ profile: String?, home: String) throws(Unreadable) -> String {
        if let profile, profile.utf8.contains(UInt8(ascii: "/")) { return profile }
        let roots = firefoxFolders.map { home + $0 }
        guard
            let (root, text) = roots.lazy.compactMap({ root in
                text(of: root + "/profiles.ini").map { (root, $0) }
            }).first
        else { throw Unreadable(why: "\(roots[0])/profiles.ini cannot be read: is there a profile of Firefox?") }
        let sections = sections(text)
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
    private static let firefoxFolders = [
        "/.mozilla/firefox", "/.config/mozilla/firefox", "/snap/firefox/common/.mozilla/firefox",
        "/.var/app/org.mozilla.firefox/.mozilla/firefox",
    ]

    /// The database of a profile; of `Default` without a name.
    static func chromium(_ profile: String?, home: String) throws(Unreadable) -> String {
        let name = profile ?? "Default"
        let folder = name.utf8.contains(UInt8(ascii: "/")) ? name : "\(home)/.config/chromium/\(name)"
        for file in ["\(folder)/Network/Cookies", "\(folder)/Cookies"] where access(file, F_OK) == 0 { return file }
        throw Unreadable(why: "\(folder) has no file Cookies: is there a profile of Chromium?")
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
