import Testing
import TransferModel

@testable import dlctl

@Suite struct FollowedTaskTests {
    @Test(arguments: [
        ("https://example.org/a/b.iso", "b.iso"), ("https://example.org/a/b.iso?x=/y#z", "b.iso"),
        ("https://example.org", "example.org"), ("https://example.org/", "example.org"),
        ("https://u:p@example.org", "example.org"), ("https://h/a%20b%C3%A9.txt", "a bé.txt"), ("https://h/%FF", "%FF"),
        ("https://h/100%", "100%"), ("ftp://h/dir/", "dir"), ("file:///etc/hosts", "hosts"), ("", ""),
        ("data:text/plain;base64,AAAAAAAAAAAAAAAA", "data:text/plain;base64,…"),
    ])
    func namesComeFromURLs(url: String, name: String) {
        #expect(TaskName.ofURL(url) == name)
    }

    @Test func theFileNamesBest() {
        var destination = Destination()
        destination.path = "/d/from-path"
        #expect(
            TaskName.of(
                file: "/d/final", destination: destination, suggested: "s", url: "https://h/u", description: "d")
                == "final")
        #expect(
            TaskName.of(file: nil, destination: destination, suggested: "s", url: "https://h/u", description: nil)
                == "from-path")
        #expect(TaskName.of(file: nil, destination: nil, suggested: "s", url: "https://h/u", description: nil) == "s")
        #expect(TaskName.of(file: nil, destination: nil, suggested: nil, url: "https://h/u", description: nil) == "u")
        #expect(TaskName.of(file: nil, destination: nil, suggested: nil, url: nil, description: nil) == "?")
        #expect(
            TaskName.of(file: "/d/\u{1B}[2J", destination: nil, suggested: nil, url: nil, description: nil)
                == "\u{FFFD}[2J")
    }

    @Test func snapshotsComeFromTheWire() {
        let running = FollowedTask(Sample.view(5))
        #expect(running.received == 1_000_000 && running.expected == 5_000_000 && running.rate == 250_000)
        #expect(running.name == "file-5.iso")
        let waiting = FollowedTask(Sample.view(6, .waiting))
        #expect(waiting.reason == .network && waiting.error?.code == .networkConnect)
        #expect(!FollowedTask(Sample.view(7, .completed)).hasFailed)
        #expect(FollowedTask(Sample.view(8, .failed)).hasFailed)
    }
}
