import TestSupport
import Testing

@testable import DaemonSetup

@Suite struct ListeningPlacesTests {
    private func places(_ fixture: ConfigurationFixture, adopted: String? = nil) throws -> [ListeningPlaces.Place] {
        let socket = adopted.map { ListenSockets.Adopted(descriptor: 3, name: "rpc", path: $0) }
        return try ListeningPlaces(try fixture.loader.load(), adopted: socket).places
    }

    @Test func theStateFolderIsAlwaysAmongThem() throws {
        var fixture = try ConfigurationFixture()
        let state = fixture.root + "/home/.local/state/dld/dld.sock"
        #expect(try places(fixture).map(\.path.path) == [fixture.root + "/run/dld/dld.sock", state])
        #expect(try places(fixture).allSatisfy { $0.kind == .usual })
        fixture.environment["XDG_RUNTIME_DIR"] = nil
        #expect(try places(fixture).map(\.path.path) == [state])
        fixture.arguments.socket = "/named/s"
        #expect(try places(fixture).map(\.path.path) == ["/named/s", state])
        #expect(try places(fixture).map(\.kind) == [.named, .usual])
        fixture.arguments.socket = state
        #expect(try places(fixture).map(\.path.path) == [state])
        #expect(try places(fixture).map(\.kind) == [.named])
    }

    /// The store creates the state folder, with its own mode.
    @Test func theStateFolderIsNotMadeForASocket() throws {
        #expect(try places(try ConfigurationFixture()).map(\.path.folderMode) == [0o700, nil])
    }

    @Test func systemdsSocketTakesThePlaceOfTheConfigured() throws {
        let fixture = try ConfigurationFixture()
        let state = fixture.root + "/home/.local/state/dld/dld.sock"
        let found = try places(fixture, adopted: "/run/systemds.sock")
        #expect(found.map(\.path.path) == ["/run/systemds.sock", state] && found.map(\.kind) == [.adopted, .usual])
        #expect(try places(fixture, adopted: state).map(\.kind) == [.adopted])
    }

    @Test func theSystemsAreOpenToItsGroup() throws {
        var fixture = try ConfigurationFixture()
        fixture.arguments.system = true
        let found = try places(fixture)
        #expect(found.map(\.path.path) == ["/run/dld/dld.sock", "/var/lib/dld/dld.sock"])
        #expect(found.map(\.path.socketMode) == [0o660, 0o660] && found.map(\.path.folderMode) == [0o750, nil])
    }
}
