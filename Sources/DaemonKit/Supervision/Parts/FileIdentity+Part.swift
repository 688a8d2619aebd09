import CurlEngine
import FileKit

extension FileIdentity {
    init(_ part: PartFile) { self.init(device: part.device, inode: part.inode) }
}
