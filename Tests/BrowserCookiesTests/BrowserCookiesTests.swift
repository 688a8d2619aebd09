import CSQLite
import TestSupport
import Testing
import TransferModel

@testable import BrowserCookies

/// Databases as Firefox 153 ESR and Chromium wrote them, with their own schema and with rows that they wrote
/// themselves.
struct BrowserCookiesTests {
    private let home: TemporaryFolder
    private static let now = Timestamp(milliseconds: 1_795_653_600_000)

    init() throws { home = try TemporaryFolder() }

    private var environment: [String: String] { ["HOME": home.path] }
    private var profiles: Profiles { Profiles(environment) }

    private static let firefox = """
        CREATE TABLE moz_cookies (id INTEGER PRIMARY KEY, originAttributes TEXT NOT NULL DEFAULT '', name TEXT, value TEXT, \
        host TEXT, path TEXT, expiry INTEGER, lastAccessed INTEGER, creationTime INTEGER, isSecure INTEGER, \
        isHttpOnly INTEGER, inBrowserElement INTEGER DEFAULT 0, sameSite INTEGER DEFAULT 0, schemeMap INTEGER DEFAULT 0, \
        isPartitionedAttributeSet INTEGER DEFAULT 0, updateTime INTEGER, \
        CONSTRAINT moz_uniqueid UNIQUE (name, host, path, originAttributes));
        INSERT INTO moz_cookies VALUES
        (1,'','keep','two','127.0.0.1','/',1795739922429,1795653522429207,1795653515971934,0,1,0,1,1,0,1795653522429210),
        (3,'','deep','3','127.0.0.1','/x',1795739922429,1795653522429207,1795653515971936,0,0,0,256,1,0,1795653522429212),
        (4,'','old','4','.Example.org','/',1795739922,0,0,1,0,0,0,2,0,0), (5,'','gone','5','a.org','/',1000,0,0,0,0,0,0,1,0,0),
        (6,'^userContextId=1','boxed','6','a.org','/',1795739922429,0,0,0,0,0,0,1,0,0),
        (7,'','bytes',CAST(x'61E9FF' AS TEXT),'a.org','/',1795739922429,0,0,0,0,0,0,1,0,0);
        """

    private static let chromium = """
        CREATE TABLE meta(key LONGVARCHAR NOT NULL UNIQUE PRIMARY KEY, value LONGVARCHAR);
        INSERT INTO meta VALUES ('version', '24');
        CREATE TABLE cookies(creation_utc INTEGER NOT NULL,host_key TEXT NOT NULL,top_frame_site_key TEXT NOT NULL,\
        name TEXT NOT NULL,value TEXT NOT NULL,encrypted_value BLOB NOT NULL,path TEXT NOT NULL,expires_utc INTEGER NOT NULL,\
        is_secure INTEGER NOT NULL,is_httponly INTEGER NOT NULL,last_access_utc INTEGER NOT NULL,has_expires INTEGER NOT NULL,\
        is_persistent INTEGER NOT NULL,priority INTEGER NOT NULL,samesite INTEGER NOT NULL,source_scheme INTEGER NOT NULL,\
        source_port INTEGER NOT NULL,last_update_utc INTEGER NOT NULL,source_type INTEGER NOT NULL,\
        has_cross_site_ancestor INTEGER NOT NULL);
        INSERT INTO cookies VALUES
        (1,'127.0.0.1','','keep','',x'7631302BB01EEBE40CCFF8B9D3B700273158B01EEE6BEDEECAB4DE6DBA0816A56B00382D596D6EB3799375BC22E4075812BECC','/',13440213483646626,0,1,0,1,1,1,1,1,18933,0,1,1),
        (2,'127.0.0.1','','sess','',x'7631302BB01EEBE40CCFF8B9D3B700273158B01EEE6BEDEECAB4DE6DBA0816A56B0038DD3EB638C13663952A6FB3ADD208EDFA','/',0,0,0,0,0,0,1,-1,1,18933,0,1,1),
        (3,'a.org','','ring','',x'76313100','/',0,0,0,0,0,0,1,-1,1,80,0,1,1), (4,'a.org','','torn','',x'76313000','/',0,0,0,0,0,0,1,-1,1,80,0,1,1),
        (5,'a.org','https://b.org','framed','x',x'','/',0,0,0,0,0,0,1,-1,1,80,0,1,1), (6,'.a.org','','plain','x',x'','/',0,1,0,0,0,0,1,0,1,80,0,1,1),
        (7,'a.org','','swapped','',x'7631302BB01EEBE40CCFF8B9D3B700273158B01EEE6BEDEECAB4DE6DBA0816A56B00382D596D6EB3799375BC22E4075812BECC','/',0,0,0,0,0,0,1,-1,1,80,0,1,1),
        (8,'a.org','','bytes',CAST(x'61E9FF' AS TEXT),x'','/',0,0,0,0,0,0,1,-1,1,80,0,1,1);
        """

    /// A database that another connection keeps open, as the browser does: the newest rows are only in the write-ahead
    /// log.
    private func database(_ path: String, _ sql: String) throws -> OpaquePointer {
        var database: OpaquePointer?
        let opened = sqlite3_open(home.file(path), &database)
        let all = "PRAGMA journal_mode = WAL; PRAGMA locking_mode = EXCLUSIVE; PRAGMA wal_autocheckpoint = 0;" + sql
        let code = sqlite3_exec(database, all, nil, nil, nil)
        guard opened == SQLITE_OK, code == SQLITE_OK, let database else { throw SupportError("sqlite: \(code)") }
        return database
    }

    @Test func firefox() throws {
        let open = try database("cookies.sqlite", Self.firefox)
        defer { sqlite3_close(open) }
        let found = try BrowserCookies(of: .firefox, profile: home.path + "/", environment: [:], at: Self.now)
        #expect(
            found.cookies == [
                Cookie(
                    name: "keep", value: "two", domain: "127.0.0.1",
                    expires: Timestamp(milliseconds: 1_795_739_922_429),
                    httpOnly: true, sameSite: .lax),
                Cookie(
                    name: "deep", value: "3", domain: "127.0.0.1", path: "/x",
                    expires: Timestamp(milliseconds: 1_795_739_922_429)),
                Cookie(
                    name: "old", value: "4", domain: "example.org", expires: Timestamp(milliseconds: 1_795_739_922_000),
                    secure: true, sameSite: Cookie.SameSite.none, hostOnly: false),
            ])
        #expect(found.refusals.map(\.name) == ["gone", "boxed", "bytes"])
        #expect(found.refusals[0].why.contains("expired") && found.refusals[1].why.contains("container"))
        #expect(found.refusals[2].why.contains("not text"))
    }

    @Test func chromium() throws {
        let open = try database("Cookies", Self.chromium)
        defer { sqlite3_close(open) }
        let found = try BrowserCookies(of: .chromium, profile: home.path + "/", environment: [:], at: Self.now)
        #expect(
            found.cookies == [
                Cookie(
                    name: "keep", value: "two", domain: "127.0.0.1",
                    expires: Timestamp(milliseconds: 1_795_739_883_646),
                    httpOnly: true, sameSite: .lax),
                Cookie(name: "sess", value: "one", domain: "127.0.0.1"),
                Cookie(
                    name: "plain", value: "x", domain: "a.org", secure: true, sameSite: Cookie.SameSite.none,
                    hostOnly: false),
            ])
        #expect(found.refusals.map(\.name) == ["ring", "torn", "framed", "swapped", "bytes"])
        for (refusal, why) in zip(found.refusals, ["keyring", "damaged", "page", "another domain", "not text"]) {
            #expect(refusal.why.contains(why))
        }
    }

    /// The browser writes and ends while its database is copied. The copy of its former log must not be read.
    @Test func aLogOfAnEarlierTryIsNotRead() throws {
        var open: OpaquePointer? = try database("a", "CREATE TABLE t (v TEXT); INSERT INTO t VALUES ('old');")
        let copy = try DatabaseCopy(of: home.file("a")) {
            guard let first = open else { return }
            open = nil
            sqlite3_close(first)
            sqlite3_close(try? database("a", "UPDATE t SET v = 'new';"))
        }
        var found: [String] = []
        try copy.rows("SELECT v FROM t") { found.append($0.text(0)) }
        #expect(found == ["new"])
    }

    @Test func profilesByNameAndByDefault() throws {
        let ini = """
            [Install4F96D1932A9F858E]
            Default=abc.default-esr

            [Profile1]
            Name=work
            IsRelative=1
            Path=xyz.work
            """
        let root = home.path + "/.mozilla/firefox"
        for folder in [".mozilla", ".mozilla/firefox"] { try home.folder(folder) }
        try Files.write(root + "/profiles.ini", ini)
        #expect(try profiles.firefox(nil) == root + "/abc.default-esr")
        #expect(try profiles.firefox("work") == root + "/xyz.work")
        let error = #expect(throws: BrowserCookies.Unreadable.self) { try profiles.firefox("play") }
        #expect(error?.why.contains("work") == true)
    }

    @Test(arguments: [
        ".config/mozilla/firefox", "snap/firefox/common/.mozilla/firefox",
        ".var/app/org.mozilla.firefox/.mozilla/firefox", ".var/app/org.mozilla.firefox/config/mozilla/firefox",
    ])
    func profilesOfEachInstallation(_ place: String) throws {
        try folders(place)
        try Files.write("\(home.path)/\(place)/profiles.ini", "[Profile0]\nName=one\nPath=abc.one\n")
        #expect(try profiles.firefox(nil) == "\(home.path)/\(place)/abc.one")
    }

    private func folders(_ path: String) throws {
        let parts = path.split(separator: "/").map(String.init)
        for count in 1...parts.count {
            let folder = parts.prefix(count).joined(separator: "/")
            if Files.status(home.file(folder)) == nil { try home.folder(folder) }
        }
    }

    @Test(arguments: [
        ".config/chromium", "snap/chromium/common/chromium", ".var/app/org.chromium.Chromium/config/chromium",
    ])
    func chromiumOfEachInstallation(_ place: String) throws {
        try folders(place + "/Default/Network")
        try folders(place + "/Profile 1")
        for file in ["Default/Network/Cookies", "Profile 1/Cookies"] {
            try Files.write(home.file("\(place)/\(file)"), "")
        }
        #expect(try profiles.chromium(nil) == "\(home.path)/\(place)/Default/Network/Cookies")
        #expect(try profiles.chromium("Profile 1") == "\(home.path)/\(place)/Profile 1/Cookies")
    }

    /// The folder of configurations may be elsewhere; then `.config` does not count. A relative path is invalid.
    @Test func theEnvironmentNamesTheFolderOfConfigurations() throws {
        try folders("conf/chromium/Default")
        try folders("conf/mozilla/firefox")
        try Files.write(home.file("conf/chromium/Default/Cookies"), "")
        try Files.write(home.file("conf/mozilla/firefox/profiles.ini"), "[Profile0]\nName=one\nPath=abc.one\n")
        let named = Profiles(["HOME": home.path, "XDG_CONFIG_HOME": home.file("conf")])
        #expect(try named.chromium(nil) == home.file("conf/chromium/Default/Cookies"))
        #expect(try named.firefox(nil) == home.file("conf/mozilla/firefox/abc.one"))
        let relative = Profiles(["HOME": home.path, "XDG_CONFIG_HOME": "conf"])
        let error = #expect(throws: BrowserCookies.Unreadable.self) { try relative.chromium(nil) }
        #expect(error?.why.contains(home.path + "/.config/chromium/Default") == true)
    }

    @Test(arguments: Browser.allCases)
    func whatIsNotThereOrNoDatabaseSaysSo(browser: Browser) throws {
        let missing = #expect(throws: BrowserCookies.Unreadable.self) {
            try BrowserCookies(of: browser, environment: environment, at: Self.now)
        }
        #expect(missing?.why.contains("profile") == true)
        for name in ["cookies.sqlite", "Cookies"] {
            try Files.write(home.file(name), String(repeating: "x", count: 5000))
        }
        #expect(throws: BrowserCookies.Unreadable.self) {
            try BrowserCookies(of: browser, profile: home.path + "/", environment: [:], at: Self.now)
        }
        for name in ["cookies.sqlite", "Cookies"] { try Files.write(home.file(name), "") }
        let empty = #expect(throws: BrowserCookies.Unreadable.self) {
            try BrowserCookies(of: browser, profile: home.path + "/", environment: [:], at: Self.now)
        }
        #expect(empty?.why.contains("form") == true)
    }
}
