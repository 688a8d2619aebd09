import Metalink
import Testing
import TransferModel

@testable import dlctl

@Suite struct AddPlanTests {
    /// The daemon would save a file named ~, or fail only when the file is complete.
    @Test(arguments: ["~", "~/f", "/proc/x", "/sys/x", "/proc"])
    func placesThatCannotBeMeantAreRefused(path: String) {
        for option in ["-o", "-d"] {
            var plan = AddPlan(urls: ["https://a/f"], currentFolder: "/home/u")
            if option == "-o" { plan.output = path } else { plan.directory = path }
            #expect {
                try plan.specs()
            } throws: { error in
                guard case .usage(let text)? = error as? CommandFailure else { return false }
                return text.hasPrefix("\(option): ")
            }
        }
        var meant = AddPlan(urls: ["https://a/f"], currentFolder: "/home/u")
        meant.output = "./~"
        #expect((try? meant.specs().first?.destination?.path) == "/home/u/~")
    }

    /// For the daemon these names mean another file.
    @Test(arguments: ["/dev/stdout", "/dev/fd/2", "/proc/self/fd/1", "-"])
    func descriptorsOfThisProgramAreRefused(_ output: String) {
        var plan = plan()
        plan.output = output
        #expect(throws: CommandFailure.self) { try plan.specs() }
    }

    private func plan(_ urls: [String] = ["https://a/f.iso"]) -> AddPlan {
        AddPlan(urls: urls, currentFolder: "/home/u")
    }

    private func usage(_ plan: AddPlan) -> String? {
        do {
            _ = try plan.specs()
            return nil
        } catch CommandFailure.usage(let text) {
            return text
        } catch {
            return "other: \(error)"
        }
    }

    @Test func savesToTheCurrentFolder() throws {
        let spec = try #require(try plan().specs().first)
        #expect(spec.url == "https://a/f.iso")
        #expect(spec.destination?.directory == "/home/u")
        #expect(spec.destination?.path == nil)
        #expect(spec.kind == .download)
    }

    @Test(arguments: [
        ("/home/u", "/var/lib/dld/files/1000"), ("/var/lib/dld/files/1000", "/var/lib/dld/files/1000"),
        ("/var/lib/dld/files/1000/sub", "/var/lib/dld/files/1000/sub"),
        ("/var/lib/dld/files/10001", "/var/lib/dld/files/1000"),
    ])
    func theSystemsDaemonSavesInOnesOwnFolder(_ current: String, _ folder: String) throws {
        var plan = AddPlan(urls: ["https://a/f.iso"], currentFolder: current)
        plan.save(in: "/var/lib/dld/files/1000")
        #expect(try plan.specs().first?.destination?.directory == folder)
        plan.output = "sub/f"
        #expect(try plan.specs().first?.destination?.path == folder + "/sub/f")
        plan.output = "/tmp/f"
        #expect(try plan.specs().first?.destination?.path == "/tmp/f")
        var own = AddPlan(urls: ["https://a/f.iso"], currentFolder: current)
        own.save(in: nil)
        #expect(try own.specs().first?.destination?.directory == current)
    }

    @Test func mirrorsAreOfOneFile() throws {
        var plan = plan()
        plan.mirrors = ["https://b/f.iso", "ftp://c/f"]
        #expect(try plan.specs().map(\.mirrors) == [["https://b/f.iso", "ftp://c/f"]])
        plan.urls.append("https://a/other")
        #expect(usage(plan)?.contains("--mirror applies to one file") == true)
        plan.urls = ["https://a/f"]
        plan.mirrors = ["nowhere"]
        #expect(usage(plan)?.contains("'nowhere' is not a URL") == true)
        var listed = self.plan([])
        listed.entries = try ListFile.parse(Array("https://a/f\thttps://b/f".utf8), file: "l")
        #expect(try listed.specs().first?.mirrors == ["https://b/f"])
    }

    @Test func metalinkFilesBecomeTasks() throws {
        let digest = String(repeating: "ab", count: 32)
        var file = Metalink.File(name: "sub/a.iso")
        file.size = 600
        file.checksums = [Checksum(algorithm: .sha256, value: digest), Checksum(algorithm: .md5, value: "00")]
        file.pieces = PieceDigests(algorithm: .sha256, length: 400, values: [digest, digest])
        file.urls = ["https://one/a", "https://two/a", "ftp://three/a"]
        var other = Metalink.File(name: "b")
        other.urls = ["https://one/b"]
        var plan = plan([])
        plan.files = [file, other]
        plan.directory = "d"
        let specs = try plan.specs()
        #expect(specs.map(\.url) == ["https://one/a", "https://one/b"])
        #expect(specs[0].mirrors == ["https://two/a", "ftp://three/a"] && specs[1].mirrors == nil)
        #expect(specs[0].checksum == file.checksums[0] && specs[0].pieces == file.pieces && specs[0].size == 600)
        #expect(specs.map(\.destination?.path) == ["/home/u/d/sub/a.iso", "/home/u/d/b"])
        plan.directory = nil
        plan.sessionHasDirectory = true
        #expect(try plan.specs()[0].destination?.path == "/home/u/sub/a.iso")
        #expect(try plan.specs()[1].destination == Destination(filename: "b"))
        plan.output = "one"
        #expect(usage(plan)?.contains("-o names one file") == true)
        plan.files.removeLast()
        #expect(try plan.specs()[0].destination?.path == "/home/u/one")
        plan.files[0].urls = (0...200).map { "https://m/\($0)" }
        #expect(try plan.specs()[0].mirrors?.count == 64, "as many as the daemon takes")
        #expect(usage(self.plan(["image.meta4"]))?.contains("--metalink image.meta4") == true)
    }

    @Test func requestsFitIntoALine() {
        var large = TaskSpec()
        large.pieces = PieceDigests(
            algorithm: .sha256, length: 1, values: Array(repeating: String(repeating: "0", count: 64), count: 40_000))
        let specs = [TaskSpec(), large, TaskSpec(), TaskSpec(), large, large]
        #expect(specs[...].firstRequest.count == 4)
        #expect(specs[4...].firstRequest.count == 1)
        #expect(Array(repeating: TaskSpec(), count: 2000)[...].firstRequest.count == 1000)
    }

    @Test(
        arguments: [
            ("f", nil, "/home/u/f"), ("/x/f", nil, "/x/f"), ("f", "d", "/home/u/d/f"), ("f", "/d", "/d/f"),
            ("/x/f", "/d", "/x/f"), ("sub/f", "d", "/home/u/d/sub/f"),
        ] as [(String, String?, String)])
    func outputIsSeenFromTheFolder(output: String, directory: String?, path: String) throws {
        var plan = plan()
        plan.output = output
        plan.directory = directory
        #expect(try plan.specs().first?.destination?.path == path)
    }

    @Test func aFolderAloneIsMadeAbsolute() throws {
        var plan = plan(["https://a/1", "https://a/2"])
        plan.directory = "d"
        #expect(try plan.specs().map { $0.destination?.directory } == ["/home/u/d", "/home/u/d"])
    }

    @Test func aSessionsFolderIsNotOverruled() throws {
        var plan = plan()
        plan.sessionHasDirectory = true
        #expect(try plan.specs().first?.destination == nil)
        plan.directory = "d"
        #expect(try plan.specs().first?.destination?.directory == "/home/u/d")
    }

    @Test func listsSetTheirOwnPlaces() throws {
        let list =
            "https://a/1\n  out=x\nhttps://a/2\n  dir=/d\nhttps://a/3\n  out=y\n  dir=e\nhttps://a/4\n  header=B: 2"
        var plan = plan([])
        plan.entries = try ListFile.parse(Array(list.utf8), file: "l")
        plan.directory = "base"
        plan.template.headers = [HeaderField("A", "1")]
        let specs = try plan.specs()
        #expect(specs.map { $0.destination?.path } == ["/home/u/base/x", nil, "/home/u/e/y", nil])
        #expect(specs.map { $0.destination?.directory } == [nil, "/d", nil, "/home/u/base"])
        #expect(specs[3].headers == [HeaderField("A", "1"), HeaderField("B", "2")])
        #expect(specs[0].headers == [HeaderField("A", "1")])
    }

    @Test func whatIsOfOneFileIsRefusedForSeveral() {
        var named = plan(["https://a/1", "https://a/2"])
        named.output = "x"
        #expect(usage(named)?.contains("-o names one file") == true)
        var summed = plan(["https://a/1", "https://a/2"])
        summed.checksum = Checksum(algorithm: .md5, value: String(repeating: "0", count: 32))
        #expect(usage(summed)?.contains("--checksum") == true)
    }

    @Test func nothingAndNonsenseAreRefused() {
        #expect(usage(plan([]))?.contains("nothing to add") == true)
        #expect(usage(plan(["//x/y"]))?.contains("did you mean https://x/y?") == true)
        #expect(usage(plan(["/etc/passwd"])) == "'/etc/passwd' is not a URL")
        #expect(usage(plan(["example.org/f"]))?.contains("did you mean https://example.org/f?") == true)
        for text in ["ht tp://x", "ht_tp://x", "a b/f", "://x"] {
            #expect(usage(plan([text])) == "'\(text)' is not a URL")
        }
        #expect(usage(plan(["example.org/a b"]))?.contains("did you mean") == true)
        for output in ["", "d/", "/"] {
            var folder = plan()
            folder.output = output
            #expect(usage(folder)?.contains("-o names a file") == true)
        }
    }

    @Test func tokensStayUnique() throws {
        var single = plan()
        single.clientToken = "t"
        #expect(try single.specs().map(\.clientToken) == ["t"])
        var several = plan(["https://a/1", "https://a/2"])
        several.clientToken = "t"
        #expect(try several.specs().map(\.clientToken) == ["t/1", "t/2"])
    }

    @Test func resumeDataStandsAlone() throws {
        var plan = plan([])
        plan.resumeData = "abc"
        let spec = try #require(try plan.specs().first)
        #expect(spec.resumeData == "abc")
        #expect(spec.url == nil)
        #expect(spec.destination == nil)
    }

    /// The other options are not dropped silently.
    @Test func optionsReplaceWhatResumeDataSays() throws {
        var plan = plan([])
        plan.resumeData = "abc"
        plan.output = "other.iso"
        plan.checksum = Checksum(algorithm: .md5, value: "00")
        plan.mirrors = ["https://b/f.iso"]
        plan.conflictPolicy = .fail
        plan.preserveTime = true
        let spec = try #require(try plan.specs().first)
        #expect(spec.resumeData == "abc" && spec.url == nil)
        #expect(spec.destination?.path == "/home/u/other.iso")
        #expect(spec.checksum == plan.checksum && spec.mirrors == plan.mirrors)
        #expect(spec.conflictPolicy == .fail && spec.preserveTime == true)
        plan.output = nil
        plan.directory = "d"
        #expect(try plan.specs().first?.destination == Destination(directory: "/home/u/d"))
    }

    @Test func aPatternIsAsManyTasks() throws {
        var plan = plan(["https://a/{x,y}/[01-03]", "https://a/z"])
        plan.clientToken = "t"
        let specs = try plan.specs()
        #expect(
            specs.map(\.url) == [
                "https://a/x/01", "https://a/x/02", "https://a/x/03", "https://a/y/01", "https://a/y/02",
                "https://a/y/03",
                "https://a/z",
            ])
        #expect(specs.map(\.clientToken) == (1...7).map { "t/\($0)" })
        plan.usesPatterns = false
        #expect(try plan.specs().first?.url == "https://a/{x,y}/[01-03]")
        let json = "data:application/json,{\"a\":[1-2]}"
        #expect(try self.plan([json]).specs().map(\.url) == [json])
    }

    @Test func outputTellsFilesOfAPatternApart() throws {
        var plan = plan(["https://a/{x,y}/[01-02]"])
        plan.output = "#1/f#2"
        #expect(
            try plan.specs().map { $0.destination?.path }
                == ["/home/u/x/f01", "/home/u/x/f02", "/home/u/y/f01", "/home/u/y/f02"])
        plan.output = "f#3"
        #expect(usage(plan)?.contains("there are 4 URLs") == true)
        plan.output = "f#1"
        plan.urls.append("https://a/z")
        #expect(usage(plan)?.contains("there are 5 URLs") == true)
    }

    @Test func patternsThatAreNoneSayWhere() {
        #expect(
            usage(plan(["https://a/f[1].iso"]))
                == "https://a/f[1].iso, position 12: '[1]' is not a range; write [1-10], [01-20], [1-10:2], [a-z] "
                + "or [a-z:3]; -g takes URLs as they are")
        #expect(usage(plan(["https://a/[1-10000001]"]))?.contains("these are 10000001 URLs; at most 10000000") == true)
        let endless = "https://a/[1-9000000000000000000]"
        #expect(usage(plan([endless, endless]))?.contains("these are too many URLs") == true)
        #expect(usage(plan(["{a,b}/f"]))?.contains("'a/f' is not a URL") == true)
    }

    @Test func standardOutputIsNoFile() throws {
        var plan = plan()
        plan.output = "-"
        #expect(usage(plan)?.contains("'dlctl fetch URL' prints what a URL has") == true)
        plan.output = "./-"
        #expect(try plan.specs().first?.destination?.path == "/home/u/-")
    }
}
