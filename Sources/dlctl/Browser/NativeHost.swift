import ArgumentParser

/// A download manager whose browser extension is served in its place.
enum NativeHost: String, CaseIterable, ExpressibleByArgument {
    case persepolis, gopeed

    /// The name under which its extension asks for it.
    var name: String {
        switch self {
        case .persepolis: "com.persepolis.pdmchromewrapper"
        case .gopeed: "com.gopeed.gopeed"
        }
    }

    /// The extension in the stores of Chromium and Edge.
    var origins: [String] {
        switch self {
        case .persepolis: ["legimlagjjoghkoedakdjhocbeomojao"]
        case .gopeed: ["mijpgljlfcapndmchhjffkpckknofcnd", "dkajnckekendchdleoaenoophcobooce"]
        }
    }

    /// The extension for Firefox.
    var extensions: [String] {
        switch self {
        case .persepolis: [name + "@persepolisdm.github.io", name + ".offline@persepolisdm.github.io"]
        case .gopeed: ["{c5d69a8f-2ed0-46a7-afa4-b3a00dc58088}"]
        }
    }
}

/// A browser that starts native messaging hosts.
enum HostBrowser: String, CaseIterable {
    case chromium, chrome, brave, vivaldi, edge, firefox, librewolf

    /// Its folder below the user's home, which exists once it has run.
    var folder: String {
        switch self {
        case .chromium: ".config/chromium"
        case .chrome: ".config/google-chrome"
        case .brave: ".config/BraveSoftware/Brave-Browser"
        case .vivaldi: ".config/vivaldi"
        case .edge: ".config/microsoft-edge"
        case .firefox: ".mozilla"
        case .librewolf: ".librewolf"
        }
    }

    var isFirefox: Bool {
        switch self {
        case .firefox, .librewolf: true
        case .chromium, .chrome, .brave, .vivaldi, .edge: false
        }
    }
}

/// `chromium,firefox` on the command line.
struct BrowserList: ExpressibleByArgument {
    var browsers: [HostBrowser]

    init?(argument: String) {
        let found = argument.split(separator: ",", omittingEmptySubsequences: false).map {
            HostBrowser(rawValue: String($0))
        }
        browsers = found.compactMap { $0 }
        guard browsers.count == found.count else { return nil }
    }
}
