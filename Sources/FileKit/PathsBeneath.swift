import CLinux
import Glibc

/// Ways to open a path beneath a folder without following a symbolic link, not even as the last component, and without
/// leaving the folder.
///
/// Both ways give the same answers. The walk is used if openat2(2) is unavailable: systemd's RestrictSUIDSGID= makes it
/// fail with ENOSYS, because a filter cannot inspect its arguments.
package enum PathsBeneath: String, Sendable, CaseIterable {
    /// One openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS.
    case openat2
    /// One openat(2) with O_NOFOLLOW for each component, relative to the descriptor of the one before.
    case walk

    /// The way that this process can use, determined once.
    package static let available = probe()

    package static func probe() -> PathsBeneath {
        let descriptor = dld_open_beneath(AT_FDCWD, ".", UInt64(DLD_O_PATH), 0)
        guard descriptor >= 0 else { return .walk }
        close(descriptor)
        return .openat2
    }

    /// Opens what `components` lead to from `folder`; the folder itself if there are none.
    /// - Returns: a descriptor, or -1 with errno: ELOOP if a symbolic link is on the path or at its end, EXDEV if a
    ///   component is not a valid name.
    package func open(_ components: [String], beneath folder: Int32, _ flags: Int32) -> Int32 {
        guard components.allSatisfy(Self.isName) else {
            errno = EXDEV
            return -1
        }
        switch self {
        case .openat2:
            let path = components.isEmpty ? "." : components.joined(separator: "/")
            return dld_open_beneath(folder, path, UInt64(UInt32(bitPattern: flags)), 0)
        case .walk: return Self.walk(components, from: folder, flags | O_CLOEXEC)
        }
    }

    private static func isName(_ component: String) -> Bool {
        !component.isEmpty && component != ".." && !component.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }

    private static func walk(_ components: [String], from folder: Int32, _ flags: Int32) -> Int32 {
        guard let last = components.last else { return openat(folder, ".", flags) }
        var current = folder
        defer { if current != folder { closeKeepingErrno(current) } }
        for component in components.dropLast() {
            let next = enter(component, of: current, DLD_O_PATH | O_DIRECTORY | O_CLOEXEC)
            guard next >= 0 else { return -1 }
            if current != folder { close(current) }
            current = next
        }
        return enter(last, of: current, flags)
    }

    /// Opens one component. A link is never followed, even if one takes the name during this call.
    private static func enter(_ component: String, of folder: Int32, _ flags: Int32) -> Int32 {
        let descriptor = openat(folder, component, flags | O_NOFOLLOW)
        // O_PATH opens a link itself unless a folder is requested, which a link is not. openat2 fails with ELOOP in
        // both cases.
        if descriptor >= 0 {
            guard flags & DLD_O_PATH != 0, flags & O_DIRECTORY == 0, status(of: descriptor).map(isLink) ?? true else {
                return descriptor
            }
            close(descriptor)
            errno = ELOOP
        } else if errno == ENOTDIR {
            errno = status(of: component, in: folder).map(isLink) ?? false ? ELOOP : ENOTDIR
        }
        return -1
    }

    private static func closeKeepingErrno(_ descriptor: Int32) {
        let code = errno
        close(descriptor)
        errno = code
    }
}
