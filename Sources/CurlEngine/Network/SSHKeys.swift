import Glibc

/// Finds the keys that OpenSSH would use, because libcurl looks only for RSA keys. Reads the disk: not for the reactor.
struct SSHKeys: Sendable {
    var knownHosts: String
    var privateKey: String?
    var publicKey: String?

    /// `home` is the home folder of the daemon's user; without a known hosts file, no host is trusted.
    static func find(knownHosts: String?, home: String?) -> SSHKeys {
        let folder = home.map { "\($0)/.ssh" }
        var keys = SSHKeys(knownHosts: knownHosts ?? folder.map { "\($0)/known_hosts" } ?? "/dev/null")
        if access(keys.knownHosts, R_OK) != 0 { keys.knownHosts = "/dev/null" }
        for name in ["id_ed25519", "id_ecdsa", "id_rsa"] {
            guard let path = folder.map({ "\($0)/\(name)" }), access(path, R_OK) == 0 else { continue }
            keys.privateKey = path
            if access(path + ".pub", R_OK) == 0 { keys.publicKey = path + ".pub" }
            break
        }
        return keys
    }
}
