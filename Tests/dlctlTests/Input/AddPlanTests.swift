import Testing
import TransferModel

@testable import dlctl

@Suite struct AddPlanTests {
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

    @Test func mirrorsAreOfOneFile() throws {
        var plan = plan()
        plan.mirrors = ["https://b/f.iso", "ftp://c/f"]
        #expect(try plan.specs().map(\.mirrors) == [["https://b/f.iso", "ftp://c/f"]])
        plan.urls.append("https://a/other")
        #expect(usage(plan)?.contains("--mirror is of one file") == true)
        plan.urls = ["https://a/f"]
        plan.mirrors = ["nowhere"]
        #expect(usage(plan)?.contains("'nowhere' is not a URL") == true)
        var listed = self.plan([])
        listed.entries = try ListFile.parse(Array("https://a/f\thttps://b/f".utf8), file: "l")
        #expect(try listed.specs().first?.mirrors == ["https://b/f"])
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
        #expect(usage(plan(["example.org/f"]))?.contains("did you mean https://example.org/f?") == true)
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
}
