// Prepares one run of the local control plane: free ports, keys, certificates and tokens.
//
// Usage: prepare DIRECTORY. Writes into the directory ca.crt, serving.crt, serving.key, service-accounts.key,
// service-accounts.pub and tokens.csv, and prints shell assignments: one NAME_PORT=number or NAME_TOKEN=text a line.
// It exists so that nothing but Go is needed for what would otherwise take openssl and python.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: prepare DIRECTORY")
		os.Exit(2)
	}
	if err := prepare(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "prepare:", err)
		os.Exit(1)
	}
}

func prepare(directory string) error {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	if err := writeServiceAccountKeys(directory); err != nil {
		return err
	}
	if err := writeServingCertificate(directory); err != nil {
		return err
	}
	if err := writeTokens(directory); err != nil {
		return err
	}
	return printFreePorts()
}

// users are the components that talk to the API server, each with the name that the built-in roles are bound to.
var users = []struct{ variable, name, groups string }{
	{"ADMIN_TOKEN", "admin", "system:masters"},
	{"CONTROLLER_MANAGER_TOKEN", "system:kube-controller-manager", ""},
	{"SCHEDULER_TOKEN", "system:kube-scheduler", ""},
	// kwok plays every kubelet; no built-in role allows that.
	{"KWOK_TOKEN", "kwok", "system:masters"},
}

func writeTokens(directory string) error {
	file := ""
	for _, user := range users {
		random := make([]byte, 16)
		if _, err := rand.Read(random); err != nil {
			return err
		}
		token := hex.EncodeToString(random)
		line := fmt.Sprintf("%s,%s,%s", token, user.name, user.name)
		if user.groups != "" {
			line += "," + user.groups
		}
		file += line + "\n"
		fmt.Printf("%s=%s\n", user.variable, token)
	}
	return os.WriteFile(filepath.Join(directory, "tokens.csv"), []byte(file), 0o600)
}

// printFreePorts holds all listeners open until the last is chosen, so that no port is given out twice.
func printFreePorts() error {
	for _, name := range []string{
		"ETCD_CLIENT", "ETCD_PEER", "API_SERVER", "CONTROLLER_MANAGER", "SCHEDULER", "KWOK_NODE", "KWOK_SERVER",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer listener.Close()
		fmt.Printf("%s_PORT=%d\n", name, listener.Addr().(*net.TCPAddr).Port)
	}
	return nil
}

func writeServiceAccountKeys(directory string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := writePEM(directory, "service-accounts.pub", "PUBLIC KEY", public); err != nil {
		return err
	}
	return writeKey(directory, "service-accounts.key", key)
}

func writeServingCertificate(directory string) error {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	begin, end := time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "windlass-local-control-plane"},
		NotBefore:             begin,
		NotAfter:              end,
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	serving := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		NotBefore:    begin,
		NotAfter:     end,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)},
	}
	authorityBytes, err := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return err
	}
	servingBytes, err := x509.CreateCertificate(rand.Reader, serving, authority, &key.PublicKey, authorityKey)
	if err != nil {
		return err
	}
	if err := writePEM(directory, "ca.crt", "CERTIFICATE", authorityBytes); err != nil {
		return err
	}
	if err := writePEM(directory, "serving.crt", "CERTIFICATE", servingBytes); err != nil {
		return err
	}
	return writeKey(directory, "serving.key", key)
}

func writeKey(directory, name string, key *ecdsa.PrivateKey) error {
	bytes, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(directory, name, "EC PRIVATE KEY", bytes)
}

func writePEM(directory, name, kind string, bytes []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
	return os.WriteFile(filepath.Join(directory, name), text, 0o600)
}
