import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Asking {
    /// Files with client certificates and trusted authorities are read where a thread may block, shown to one origin
    /// only, and never confused with another file of the same name.
    @Suite(.enabled(if: Requirements.has("nginx", "openssl")))
    struct Certificates {
        /// A server that answers with the name in the client's certificate, a daemon, and the file with a client's
        /// certificate.
        private struct House {
            let server: Nginx
            let scene: Scene
            let authority: String
            var identity: String { scene.file("identity") }

            init() async throws {
                server = try await Certificates.server()
                scene = try await Scene()
                authority = try #require(server.certificates?.authority)
            }

            /// Gives the client another certificate. Its key is in the same file.
            func isNow(_ name: String) async throws {
                try await Program.require([
                    "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", identity + ".key", "-out", identity + ".crt", "-days", "30", "-subj", "/CN=\(name)",
                ])
                try Files.write(identity, try Files.text(identity + ".crt") + Files.text(identity + ".key"))
            }

            /// Returns the server's answer about the certificate that it was shown.
            func shown(at location: String, to name: String) async throws -> String {
                let id = try await scene.probe.add(
                    server.tlsURL(location), to: scene.file(name),
                    Scene.quickRetry.merging([
                        "caFile": .string(authority), "httpVersion": "1.1",
                        "clientCertificate": ["certificate": .string(identity)],
                    ]) { $1 })
                try await scene.probe.wait(for: id, "completed")
                return try Files.text(scene.file(name))
            }
        }

        private static func server() async throws -> Nginx {
            try await Nginx.start(
                tls: true,
                extra: """
                    ssl_verify_client optional_no_ca;
                    location = /who { return 200 "$ssl_client_s_dn"; }
                    location = /away { return 302 https://127.0.0.1:$server_port/who; }
                    """)
        }

        /// libcurl reuses a connection for any request with the same path, even if the path now leads to another
        /// certificate.
        @Test(.timeLimit(.minutes(1)))
        func aConnectionIsUsedForTheCertificateThatMadeIt() async throws {
            let house = try await House()
            try await house.isNow("anna")
            #expect(try await house.shown(at: "who", to: "1") == "CN=anna")
            try await house.isNow("bert")
            #expect(try await house.shown(at: "who", to: "2") == "CN=bert")
        }

        @Test(.timeLimit(.minutes(1)))
        func anotherOriginIsShownNone() async throws {
            let house = try await House()
            try await house.isNow("anna")
            #expect(try await house.shown(at: "away", to: "1") == "")
        }

        /// The network thread serves everybody, so it must never open a file that could block it.
        @Test(.timeLimit(.minutes(1)), arguments: ["caFile", "certificate", "key", "netrc"], [false, true])
        func whatBecameAFifoOrEndlessHoldsNobodyUp(_ member: String, _ isEndless: Bool) async throws {
            let house = try await House()
            try await house.isNow("anna")
            let (scene, authority, identity) = (house.scene, house.authority, house.identity)
            let path = scene.file("changing")
            try Files.write(path, try Files.text(member == "caFile" ? authority : identity))
            let certificate: [String: JSONValue] = [
                "certificate": .string(member == "certificate" ? path : identity),
                "key": .string(member == "key" ? path : identity),
            ]
            var spec: [String: JSONValue] = [
                "caFile": .string(member == "caFile" ? path : authority), "startPaused": true,
                "clientCertificate": .object(certificate),
            ]
            if member == "netrc" { spec["netrc"] = .string(path) }
            let id = try await scene.probe.add(house.server.tlsURL("who"), to: scene.file("file"), spec)
            unlink(path)
            if isEndless {
                try Files.write(path, "")
                #expect(truncate(path, 1 << 40) == 0)
            } else {
                #expect(mkfifo(path, 0o600) == 0)
            }
            #expect(try await scene.probe.control("resume", id))
            let task = try await scene.probe.wait(for: id, "failed")
            #expect(task["error"]?["code"]?.stringValue == "source.unreadable")
            scene.origin.serveEverything(.good(.version(1, size: 1000)))
            try await scene.probe.wait(for: try await scene.add(to: "other"), "completed")
        }

        /// A setting of the system daemon is not a path that a client names.
        @Test(.timeLimit(.minutes(1)), .enabled(if: Requirements.isRoot, "a system daemon needs root"))
        func theSystemDaemonTrustsWhomItsConfigurationSays() async throws {
            let server = try await Self.server()
            let authority = try #require(server.certificates?.authority)
            let daemon = try await DaemonProcess.started(["--system", "--set", "session.caFile=\(authority)"])
            chmod(daemon.socket, 0o666)
            let anna = try await daemon.probe(uid: IsolationHouse.anna)
            let home = daemon.stateFolder + "/files/\(IsolationHouse.anna)"
            let id = try await anna.add(server.tlsURL("who"), to: home + "/file", Scene.quickRetry)
            try await anna.wait(for: id, "completed")
        }
    }
}
