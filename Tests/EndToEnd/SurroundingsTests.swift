import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// Changes of a daemon's environment: its configuration, the resolver, its state folder.
    struct Surroundings {
        /// A FIFO would read as an empty file, and all settings would fall back to their defaults.
        @Test(.timeLimit(.minutes(1))) func aConfigurationThatBecomesAFIFOIsNotReloaded() async throws {
            let folder = try TemporaryFolder()
            let file = folder.file("dld.yaml")
            try Files.write(file, "maximumConcurrentTasks: 7\n")
            let daemon = try await DaemonProcess.started(["--config", file])
            #expect(unlink(file) == 0 && mkfifo(file, 0o600) == 0)
            daemon.signal(SIGHUP)
            #expect(await eventually { daemon.log.contains("configuration not reloaded; the old one stays in force") })
            #expect(daemon.log.contains("it is not a regular file"))
            let settings = try await daemon.probe().call("settings.get")
            #expect(settings["maximumConcurrentTasks", "value"] == 7)
            let (status, output) = try await Program.run(
                [try Binaries.path("dld"), "--check-config", "--config", file],
                environment: Program.plainEnvironment.merging(["HOME": folder.path]) { $1 })
            #expect(status == 78 && output.contains("it is not a regular file"), "\(output)")
        }

        /// Its next attempt is an hour away.
        @Test(.timeLimit(.minutes(2)), .enabled(if: Requirements.isRoot, "mounts need root"))
        func tasksWhoseHostHadNoAddressAreTriedWhenNamesResolve() async throws {
            let folder = try TemporaryFolder()
            let origin = try MisbehavingOrigin()
            origin.serve("/file", .good(Resource.version(1, size: 1000)))
            let (resolver, hosts) = (folder.file("resolv.conf"), folder.file("hosts"))
            try Files.write(resolver, "nameserver 127.0.0.9\noptions timeout:1 attempts:1\n")
            try Files.write(hosts, "127.0.0.1 localhost\n")
            let mounts =
                "mount --bind \(resolver) /etc/resolv.conf && mount --bind \(hosts) /etc/hosts && exec \"$0\" \"$@\""
            let daemon = try await DaemonProcess.started(wrapper: ["unshare", "-m", "sh", "-c", mounts])
            let probe = try await daemon.probe()
            let url = origin.url("/file").replacing("127.0.0.1", with: "origin.test")
            let id = try await probe.add(
                url, to: folder.file("file"), ["retry": ["firstDelay": 86400, "longestDelay": 86400]])
            let task = try await probe.wait(for: id, "waiting")
            #expect(task.errorCode == "network.dns", "\(task)")
            try Files.write(hosts, "127.0.0.1 localhost origin.test\n")
            try Files.write(resolver, "nameserver 127.0.0.10\n")
            try await probe.wait(for: id, "completed")
            #expect(daemon.log.contains("name resolution has changed"))
        }
    }
}
